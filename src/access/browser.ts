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
  const host = authority.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  if (host === 'localhost' || host === baseDomain.toLowerCase()) return true;
  const address = plainAddress(host.replace(/^\[(.*)\]$/, '$1'));
  return address !== null && isLoopback(address);
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}
