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

/** A store whose writes fail when told, or wait until they are let go. */
class Slow extends MemoryStore {
  isBroken = false;
  held: Promise<void> | null = null;

  override async touchSessions(usedAt: ReadonlyMap<string, number>): Promise<void> {
    if (this.isBroken) throw new Error('The disk is full.');
    await this.held;
    await super.touchSessions(usedAt);
  }

  override removeSessions(hashes: readonly string[]): Promise<void> {
    if (this.isBroken) return Promise.reject(new Error('The disk is full.'));
    return super.removeSessions(hashes);
  }
}

async function opened(store: MemoryStore): Promise<Sessions> {
  const sessions = new Sessions(store, 'a');
  await sessions.load();
  return sessions;
}

test('a session that is closed stays so, though its use is written down later', async () => {
  const store = new Slow();
  const sessions = await opened(store);
  const id = await sessions.open(T0);
  sessions.touch(id, T0 + 1000);
  let letGo = () => {};
  store.held = new Promise((done) => letGo = done);
  const saving = sessions.save(T0 + 2000);
  await sessions.close(id);
  letGo();
  await saving;
  expect((await opened(store)).isOpen(id, T0 + 2000)).toBe(false);
});

test('what the store did not take is written by the next save: ends, and uses', async () => {
  const store = new Slow();
  const sessions = await opened(store);
  const [closed, used] = [await sessions.open(T0), await sessions.open(T0)];
  store.isBroken = true;
  await expect(sessions.close(closed)).rejects.toThrow('full');
  expect(sessions.isOpen(closed, T0)).toBe(false);
  sessions.touch(used, T0 + 5000);
  await expect(sessions.save(T0 + 6000)).rejects.toThrow('full');
  store.isBroken = false;
  await sessions.save(T0 + 7000);
  expect(await store.readSessions()).toMatchObject([{ usedAt: T0 + 5000 }]);
  expect((await opened(store)).isOpen(closed, T0)).toBe(false);
});
