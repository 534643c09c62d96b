/**
 * Warns of pools that anybody may call: one without a key and any other proof, on a listener that
 * other machines reach. It only tells; what the operator set stays in force.
 */
import { isLoopback, plainAddress } from '../cidr.ts';
import { log } from '../log.ts';
import type { Directory } from '../scheduler/directory.ts';

export function warnOfOpenPools(directory: Directory, origin: string): void {
  const host = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
  const address = plainAddress(host);
  if (host === 'localhost' || (address !== null && isLoopback(address))) return;
  for (const { spec } of directory.list()) {
    const { key, hmac, jwt, cloudflareAccess, ip } = spec.access;
    if (key.required || hmac !== null || jwt !== null || cloudflareAccess !== null) continue;
    const from = ip.allow.length > 0 ? 'every address on its list' : 'anybody';
    log.warn(`pool {pool} wants no key: ${from} who reaches {origin} may call it`, {
      pool: spec.name,
      origin,
    });
  }
}
