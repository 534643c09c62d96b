/**
 * Whether a caller that passed may still go on: its key may have been revoked or have expired
 * since, the secret that signed for it may be the pool's no more, or the pool's rules may have
 * become stricter. It judges by what is known without the request; a proof that was checked is not
 * asked for again, but one that is newly wanted was never given.
 */
import type { AccessSpec } from '../wire_access.ts';
import { addressRule } from './address_policy.ts';
import { fingerprintOf } from './hmac_key.ts';
import type { GuardedPool } from './policy.ts';

export interface Standing {
  readonly keyId: string | null;
  /** The fingerprint of the HMAC secret that signed the call; null where none did. */
  readonly signer: string | null;
  /** In its plain form; null where there is none. */
  readonly address: string | null;
}

const PROOFS = ['hmac', 'jwt', 'cloudflareAccess'] as const;

/** @param before the rules under which the caller passed. */
export function stillStands(
  { keyId, signer, address }: Standing,
  before: AccessSpec,
  { spec: { access }, keys }: GuardedPool,
  epochMs: number,
): boolean {
  if (keyId !== null && !keys.isValid(keyId, epochMs)) return false;
  if (access === before) return true;
  if (keyId === null && access.key.required && !before.key.required) return false;
  if (signer !== null && !isSecretOf(access, signer)) return false;
  if (PROOFS.some((name) => access[name] !== null && before[name] === null)) return false;
  const peer = address === null ? { kind: 'none', text: null } as const : known(address);
  return addressRule(access.ip)?.(peer).kind !== 'fail';
}

/** Where nobody need sign any more, no secret is wrong. */
function isSecretOf({ hmac }: AccessSpec, signer: string): boolean {
  return hmac?.secrets.some((secret) => fingerprintOf(secret) === signer) ?? true;
}

function known(text: string) {
  return { kind: 'known', text } as const;
}
