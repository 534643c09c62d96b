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

/**
 * Made once for all who are asked about: what the rules hold is taken apart here.
 * @param before the rules under which the callers passed.
 */
export function standingUnder(
  before: AccessSpec,
  { spec: { access }, keys }: GuardedPool,
  epochMs: number,
): (standing: Standing) => boolean {
  const isKeyGood = (keyId: string | null) => keyId === null || keys.isValid(keyId, epochMs);
  if (access === before) return ({ keyId }) => isKeyGood(keyId);
  const wantsMore = PROOFS.some((name) => access[name] !== null && before[name] === null);
  const wantsKey = access.key.required && !before.key.required;
  // Where nobody need sign any more, no secret is wrong.
  const signers = access.hmac === null ? null : new Set(access.hmac.secrets.map(fingerprintOf));
  const rule = addressRule(access.ip);
  return ({ keyId, signer, address }) => {
    if (wantsMore || !isKeyGood(keyId) || keyId === null && wantsKey) return false;
    if (signer !== null && signers?.has(signer) === false) return false;
    const peer = address === null ? { kind: 'none', text: null } as const : known(address);
    return rule?.(peer).kind !== 'fail';
  };
}

function known(text: string) {
  return { kind: 'known', text } as const;
}
