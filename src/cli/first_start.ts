/**
 * What a first start gives somebody who has nothing yet: the pool `default`, a key, and a call to
 * paste. They are printed once they are durable, on standard output and never through the log.
 */
import { freshKey, keyRow } from '../access/keys.ts';
import type { Directory } from '../scheduler/directory.ts';
import type { Store } from '../store/store.ts';
import { PoolSpec } from '../wire.ts';
import { print } from './command.ts';

const VALUE = 'first_start_done';
const POOL = 'default';

/** Makes pool and key unless it was done or there are pools; returns what prints them. */
export async function firstStart(
  store: Store,
  directory: Directory,
  nowMs: number,
): Promise<((origin: string) => Promise<void>) | null> {
  if (await store.readValue(VALUE) !== null) return null;
  const pools = directory.list();
  if (pools.some(({ spec, isManaged }) => isManaged || spec.name !== POOL)) {
    await store.saveValue(VALUE, String(nowMs));
    return null;
  }
  const entry = directory.get(POOL) ?? await directory.put(PoolSpec.parse({ name: POOL }));
  const key = freshKey();
  await directory.addKeys(entry, [keyRow(key, {
    id: `key_${crypto.randomUUID()}`,
    pool: POOL,
    name: 'first start',
    createdAt: nowMs,
    expiresAt: null,
    lastUsedAt: null,
  })]);
  return async (origin) => {
    print(`first start: made the pool "${POOL}" and a key for it, shown only now: ${key}`);
    print(`try it: curl -X POST ${origin}/pools/${POOL}/lock/acquire -H "X-Nthpool-Key: ${key}"`);
    await store.saveValue(VALUE, String(nowMs));
  };
}
