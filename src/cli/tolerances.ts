/**
 * The tolerances of signatures that were in force last, kept over a restart: after one was raised,
 * a time of which nonces were forgotten already must stay refused.
 */
import type { Nonces, Tolerance } from '../access/nonces.ts';
import { log, messageOf } from '../log.ts';
import type { Store } from '../store/store.ts';

const VALUE = 'hmac-tolerances';

/** Writes the tolerances of all pools down. */
export function keepTolerances(store: Store, byPool: ReadonlyMap<string, Tolerance>): void {
  store.saveValue(VALUE, JSON.stringify([...byPool])).catch((error) => {
    log.warn('the tolerances were not written down: {reason}', { reason: messageOf(error) });
  });
}

export async function restoreTolerances(nonces: Nonces, store: Store): Promise<void> {
  const text = await store.readValue(VALUE);
  if (text !== null) nonces.restoreTolerances(JSON.parse(text) as [string, Tolerance][]);
}
