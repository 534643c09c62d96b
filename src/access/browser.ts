/**
 * The rules for browsers. A browser sends cookies, and may call this machine, on behalf of any page
 * that is open; so a request that proved nothing but that must come from this server's own pages,
 * and must name this server as its host, lest a foreign name be pointed here.
 */
import { isLoopback, plainAddress } from '../cidr.ts';
import type { AccessRequest } from './policy.ts';

/** Why the request may be a foreign page's; null where it is none. */
export function foreignPage({ headers, host, isOwnHost }: AccessRequest): string | null {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'browser: cross-site';
  const origin = headers.get('origin');
  if (origin !== null && hostOfOrigin(origin) !== host.toLowerCase()) {
    return 'browser: foreign origin';
  }
  return isOwnHost ? null : 'browser: foreign host';
}

/** Whether an authority (`host:port`) names this machine, or the base domain. */
export function isLocalOrBase(authority: string, baseDomain: string): boolean {
  const host = nameOf(authority);
  if (host === 'localhost' || host === baseDomain.toLowerCase()) return true;
  const address = addressIn(host);
  return address !== null && isLoopback(address);
}

/** Endings of names that no public name server knows. */
const PRIVATE_ENDING = /\.(localhost|local|internal|home\.arpa)$/;

/**
 * Whether an authority is one that nobody outside can point here: an address, or a name without a
 * dot or under an ending for private networks.
 */
export function isPrivateName(authority: string): boolean {
  const host = nameOf(authority);
  if (!host.includes('.') || PRIVATE_ENDING.test(host)) return true;
  return addressIn(host) !== null;
}

function nameOf(authority: string): string {
  return authority.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}

function addressIn(host: string): string | null {
  return plainAddress(host.replace(/^\[(.*)\]$/, '$1'));
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}
