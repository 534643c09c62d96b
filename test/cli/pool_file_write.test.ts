/**
 * What applying the file of pools writes: pools and keys in one write, of what differs alone, and
 * nothing of it is in force where that write fails.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { hashOf } from '../../src/access/keys.ts';
import { applyPoolFile } from '../../src/cli/pool_file.ts';
import { PoolSpec } from '../../src/wire.ts';
import { Caller, Door, fixed, pass, soon } from '../http/door.ts';
import { TestStore } from '../support/test_store.ts';

const NOW_MS = 1_767_225_600_000;
let store: TestStore;
let door: Door;

beforeEach(async () => {
  store = new TestStore();
  door = await Door.open({ store });
});
afterEach(() => void vi.restoreAllMocks());

/** One pool of the file, with keys that are told by their secrets. */
function filed(name: string, limit: number, ...secrets: readonly string[]) {
  const keys = secrets.map((secret) => ({ name: secret, hash: hashOf(secret), isShort: false }));
  return { spec: PoolSpec.parse({ name, ...fixed(limit) }), keys };
}

type Filed = ReturnType<typeof filed>;

function apply(...pools: readonly Filed[]): Promise<void> {
  return door.settled(applyPoolFile(door.server.directory, pools, NOW_MS));
}

async function status(pool: string, secret: string): Promise<number> {
  return (await new Caller(door, pool, secret).acquire()).status;
}

const limitOf = (pool: string) => door.server.directory.get(pool)?.spec.concurrency.limit;
const rowsOf = (pool: string) => door.server.directory.get(pool)?.keys.rows();

it('is one write of the store, for pools and keys together', async () => {
  await apply(filed('a', 2, 'old a'), filed('b', 2, 'old b'));
  const writes = (['savePools', 'saveKeys', 'removeKey'] as const).map((name) =>
    vi.spyOn(store, name)
  );
  await apply(filed('a', 3, 'new a'), filed('b', 3, 'new b'));
  expect(writes.map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0]);
  expect([...store.keys.values()].map(({ name }) => name)).toEqual(['new a', 'new b']);
  expect(await status('b', 'new b')).toBe(200);
  expect(await status('b', 'old b')).toBe(401);
});

it('leaves limits, keys and waiters as they were where that write fails', async () => {
  await apply(filed('a', 1, 'one', 'two'));
  expect(await status('a', 'two')).toBe(200);
  const waiting = await new Caller(door, 'a', 'one').wait();
  store.trouble = 'failed';
  await expect(apply(filed('a', 3, 'three'), filed('b', 3))).rejects.toThrow('is failed');
  store.trouble = null;
  await soon(door);
  expect(waiting.answer).toBeNull();
  expect([limitOf('a'), limitOf('b')]).toEqual([1, undefined]);
  expect(rowsOf('a')?.map(({ name }) => name)).toEqual(['one', 'two']);
  expect(await status('a', 'three')).toBe(401);
  await apply(filed('a', 1, 'three'));
  await soon(door);
  expect(waiting.answer?.status).toBe(401);
});

it('writes what differs alone', async () => {
  await apply(filed('a', 2, 'one', 'two'), filed('b', 2, 'one'), filed('c', 2));
  const rows = rowsOf('a');
  store.written.length = 0;
  await apply(filed('a', 2, 'two', 'one'), filed('b', 2), filed('c', 3));
  expect(store.written).toEqual(['pool b', 'pool c']);
  expect(rowsOf('a')).toEqual(rows);
  expect(store.keys.size).toBe(2);
});

it('gives a key that it takes over its name and no expiry, in place', async () => {
  await door.pool('a');
  const made = await door.admin('POST', '/pools/a/keys', {
    name: 'by API',
    expiresAt: NOW_MS + 5_000,
  });
  const key = String(made.json.key);
  const before = rowsOf('a')?.find(({ name }) => name === 'by API');
  const { spec, keys } = filed('a', 2, key);
  await apply({ spec, keys: keys.map((one) => ({ ...one, name: 'by file' })) });
  expect(rowsOf('a')).toEqual([{ ...before, name: 'by file', expiresAt: null }]);
  expect([...store.keys.values()]).toEqual(rowsOf('a'));
  await pass(door, 6_000);
  expect(await status('a', key)).toBe(200);
});

it('renames a key in place, with its uses', async () => {
  const { spec, keys } = filed('a', 2, 'one');
  await apply({ spec, keys });
  expect(await status('a', 'one')).toBe(200);
  const [before] = rowsOf('a') ?? [];
  await apply({ spec, keys: keys.map((key) => ({ ...key, name: 'other' })) });
  expect(rowsOf('a')).toEqual([{ ...before, name: 'other' }]);
  await door.server.directory.saveUses();
  expect([...store.uses.keys()]).toEqual([before?.id]);
});
