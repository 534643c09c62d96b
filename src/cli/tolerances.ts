/**
 * The tolerances of signatures that were in force last, kept over a restart: after one was raised,
 * a time of which nonces were forgotten already must stay refused.
 */
import type { Nonces, Tolerance } from '../access/nonces.ts';
import { log, messageOf } from '../log.ts';
import type { Store } from '../store/store.ts';

const valueName = (pool: string) => `hmac-tolerance:${pool}`;

/** Writes a pool's tolerance down. What is lost makes the next start refuse more, never less. */
export function keepTolerance(store: Store, pool: string, tolerance: Tolerance): void {
  store.saveValue(valueName(pool), JSON.stringify(tolerance)).catch((error) => {
    log.warn('a tolerance was not written down: {reason}', { reason: messageOf(error) });
  });
}

export async function restoreTolerances(
  nonces: Nonces,
  store: Store,
  pools: readonly { readonly name: string }[],
): Promise<void> {
  for (const { name } of pools) {
    const text = await store.readValue(valueName(name));
    if (text !== null) nonces.restoreTolerance(name, JSON.parse(text) as Tolerance);
  }
}
