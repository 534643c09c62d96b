/**
 * Why a caller that passed may not go on, if so: its key may have been revoked or have expired
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

/** Of a key that was right once. */
export const KEY_GONE = 'key: revoked or expired';

const PROOFS = [
  ['hmac', 'hmac: missing'],
  ['jwt', 'jwt: missing'],
  ['cloudflareAccess', 'cloudflare access: missing'],
] as const;

/**
 * What fails of a caller, in the words of the policies; null where he may go on. Made once for all
 * who are asked about: what the rules hold is taken apart here.
 * @param before the rules under which the callers passed.
 */
export function faultUnder(
  before: AccessSpec,
  { spec: { access }, keys }: GuardedPool,
  epochMs: number,
): (standing: Standing) => string | null {
  const keyFault = (keyId: string | null) =>
    keyId === null || keys.isValid(keyId, epochMs) ? null : KEY_GONE;
  if (access === before) return ({ keyId }) => keyFault(keyId);
  const proof = PROOFS.find(([name]) => access[name] !== null && before[name] === null);
  const wantsKey = access.key.required && !before.key.required;
  // Where nobody need sign any more, no secret is wrong.
  const signers = access.hmac === null ? null : new Set(access.hmac.secrets.map(fingerprintOf));
  const rule = addressRule(access.ip);
  return ({ keyId, signer, address }) => {
    const fault = proof?.[1] ?? keyFault(keyId);
    if (fault !== null) return fault;
    if (keyId === null && wantsKey) return 'key: missing';
    if (signer !== null && signers?.has(signer) === false) return 'hmac: secret taken out';
    const peer = address === null ? { kind: 'none', text: null } as const : known(address);
    const verdict = rule?.(peer);
    return verdict?.kind === 'fail' ? verdict.reason : null;
  };
}

function known(text: string) {
  return { kind: 'known', text } as const;
}
