/**
 * Warns of listeners that do other than one may think: where other machines reach a pool without a
 * key and any other proof, and where there is no pool. It only tells; what the operator set stays
 * in force.
 */
import { isLoopback, plainAddress } from '../cidr.ts';
import { log } from '../log.ts';
import { openTo } from '../open_pool.ts';
import type { Directory } from '../scheduler/directory.ts';

/** @param directory the pools that the listener of this origin leads to. */
export function warnOfOpenPools(directory: Pick<Directory, 'list'>, origin: string): void {
  const host = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
  const address = plainAddress(host);
  if (host === 'localhost' || (address !== null && isLoopback(address))) return;
  for (const { spec } of directory.list()) {
    const from = openTo(spec.access);
    if (from === null) continue;
    log.warn(`pool {pool} wants no key: ${from} who reaches {origin} may call it`, {
      pool: spec.name,
      origin,
    });
  }
}

/** The same for a listener of one pool, which may be still to be made. */
export function warnOfPoolListener(directory: Directory, pool: string, origin: string): void {
  const entry = directory.get(pool);
  if (entry !== undefined) return warnOfOpenPools({ list: () => [entry] }, origin);
  log.warn('there is no pool {pool}: {origin} answers 401 until there is one', { pool, origin });
}
