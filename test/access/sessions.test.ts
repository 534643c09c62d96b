import { expect, test } from 'vitest';
import { Sessions } from '../../src/access/sessions.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { T0 } from '../support/pools.ts';

test('a session ends for good with its admin token, though that comes back', async () => {
  const store = new MemoryStore();
  const start = async (adminHash: string) => {
    const sessions = new Sessions(store, adminHash);
    await sessions.load();
    return sessions;
  };
  const id = await (await start('a')).open(T0);
  const opens = async (adminHash: string) => (await start(adminHash)).isOpen(id, T0);
  expect(await opens('a')).toBe(true);
  expect(await opens('b')).toBe(false);
  expect(await store.readSessions()).toEqual([]);
  expect(await opens('a')).toBe(false);
});
