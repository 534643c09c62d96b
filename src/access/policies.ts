/**
 * The table of access policies in the order in which they are asked: what costs least comes first.
 * A new policy is one file and one line here.
 */
import { addressPolicy } from './address_policy.ts';
import { cloudflarePolicy } from './cloudflare_policy.ts';
import { hmacPolicy } from './hmac_policy.ts';
import { jwtPolicy } from './jwt_policy.ts';
import { keyPolicy } from './key_policy.ts';
import type { PolicyKind } from './policy.ts';

/** The policy whose failure alone is told with 403. */
export const ADDRESS = addressPolicy;

export const POLICIES: readonly PolicyKind[] = [
  addressPolicy,
  keyPolicy,
  hmacPolicy,
  jwtPolicy,
  cloudflarePolicy,
];
