/**
 * The address policy: deny wins, an empty allow list allows all. A peer without an address (a Unix
 * socket, or one that the runtime does not tell) is on no allow list; a forwarded address that
 * cannot be read fails wherever there is a list at all.
 */
import { AddressRanges } from '../cidr.ts';
import type { AccessSpec } from '../wire_access.ts';
import type { PeerAddress } from './peer_address.ts';
import type { PolicyKind, PolicyVerdict } from './policy.ts';
import { PASS } from './policy.ts';

const DENIED: PolicyVerdict = { kind: 'fail', reason: 'address: denied' };
const NOT_ALLOWED: PolicyVerdict = { kind: 'fail', reason: 'address: not allowed' };
const UNKNOWN: PolicyVerdict = { kind: 'fail', reason: 'address: unknown' };
const UNREADABLE: PolicyVerdict = { kind: 'fail', reason: 'address: forwarded one unreadable' };

export const addressPolicy: PolicyKind = {
  name: 'address',
  make: ({ spec }) => {
    const rule = addressRule(spec.access.ip);
    return rule === null ? null : { judge: ({ address }) => rule(address) };
  },
};

/** What the lists say of an address; null where there are none. */
export function addressRule(
  lists: AccessSpec['ip'],
): ((address: PeerAddress) => PolicyVerdict) | null {
  const allow = new AddressRanges(lists.allow);
  const deny = new AddressRanges(lists.deny);
  if (allow.isEmpty && deny.isEmpty) return null;
  return (address) => {
    if (address.kind === 'unreadable') return UNREADABLE;
    if (address.kind === 'none') return allow.isEmpty ? PASS : UNKNOWN;
    if (deny.has(address.text)) return DENIED;
    return allow.isEmpty || allow.has(address.text) ? PASS : NOT_ALLOWED;
  };
}
