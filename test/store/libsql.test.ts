/** What the libSQL store promises beyond the contract's own cases: crashes, folds and the claim. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LibsqlStore } from '../../src/store/libsql.ts';
import type { Snapshot } from '../../src/store/store.ts';
import {
  batch,
  crashCopy,
  entry,
  folder,
  key,
  lease,
  libsqlAt,
  NEVER,
  opened,
  pool,
  T0,
  unlockedAt,
} from './samples.ts';

const slotIds = ({ leases }: Snapshot) => leases.map(({ slotId }) => slotId).sort();

async function logIds(store: LibsqlStore): Promise<string[]> {
  return (await store.readLog({ pool: 'a', limit: 1000 })).entries.map(({ id }) => id);
}

describe('after a crash', () => {
  test('each batch that resolved is there, folded or not', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    await store.commit(batch({ leases: [lease('s1'), lease('s2')], entries: [entry('1')] }));
    await store.fold();
    await store.commit(batch({ ended: ['s1'], entries: [entry('2')], fence: 7 }));
    await store.commit(batch({ leases: [lease('s3', { fence: 9 })], entries: [entry('3')] }));
    const next = libsqlAt(crashCopy(path));
    const snapshot = await next.open();
    expect(slotIds(snapshot)).toEqual(['s2', 's3']);
    expect(snapshot).toMatchObject({ attempt: 3, fence: T0 * 1000, isNew: false });
    expect(await logIds(next)).toEqual(['3', '2', '1']);
    expect(slotIds(await libsqlAt(crashCopy(path)).open())).toEqual(['s2', 's3']);
  });

  test('at any point, the net effect of all batches is found', async () => {
    const step = fc.record({
      begin: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }),
      end: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }),
      fold: fc.boolean(),
      crash: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        let path = join(folder(), 'a.db');
        let store = await opened(path);
        const live = new Set<string>();
        const logged: string[] = [];
        for (const { begin, end, fold, crash } of steps) {
          const id = (logged.length + 1).toString(36);
          await store.commit(batch({
            leases: begin.map((n) => lease(`s${n}`, { attempt: id })),
            ended: end.map((n) => `s${n}`),
            entries: [entry(id)],
          }));
          logged.unshift(id);
          for (const n of begin) live.add(`s${n}`);
          for (const n of end) live.delete(`s${n}`);
          if (fold) await store.fold();
          if (crash) {
            path = crashCopy(path);
            store = libsqlAt(path);
            expect(slotIds(await store.open())).toEqual([...live].sort());
          }
        }
        await store.close();
        const last = libsqlAt(path);
        expect(slotIds(await last.open())).toEqual([...live].sort());
        expect(await logIds(last)).toEqual(logged);
        await last.close();
      }),
      { numRuns: 40 },
    );
  });

  test('a batch that was committed twice is in the log once', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    // The first answer may have been lost, so that the host sends the same again.
    await store.commit(batch({ entries: [entry('1')] }));
    await store.commit(batch({ entries: [entry('1'), entry('2')] }));
    const next = libsqlAt(crashCopy(path));
    await next.open();
    expect(await logIds(next)).toEqual(['2', '1']);
  });
});

describe('folding', () => {
  test('commits are never held back by a fold, and none is lost between', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    const all: Promise<void>[] = [];
    for (let n = 1; n <= 60; n += 1) {
      all.push(store.commit(batch({
        leases: [lease(`s${n}`)],
        ended: [`s${n - 3}`],
        entries: [entry(n.toString(36))],
      })));
      if (n % 7 === 0) all.push(store.fold());
    }
    await Promise.all(all);
    expect(await logIds(store)).toHaveLength(60);
    await store.close();
    expect(slotIds(await libsqlAt(path).open())).toEqual(['s58', 's59', 's60']);
  });

  test('a large backlog is folded without being asked', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    const entries = Array.from({ length: 900 }, (_, n) => entry(n.toString(36)));
    for (let n = 0; n < 20; n += 1) await store.commit(batch({ entries }));
    await store.probe();
    const reader = createClient({ url: `file:${path}` });
    const { rows } = await reader.execute('SELECT sum(count) AS held FROM log_segment');
    reader.close();
    // Some 6000 entries as short as these weigh as much as a fold.
    expect(Number(rows[0]?.held)).toBeGreaterThanOrEqual(12_000);
  });

  test('the write-ahead log and the file stay small over 20 000 commits', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    let wal = 0;
    for (let n = 0; n < 20_000; n += 1) {
      await store.commit(batch({
        leases: [lease(`s${n}`), lease(`t${n}`)],
        ended: [`s${n - 1}`, `t${n - 9}`],
        entries: [entry(n.toString(36))],
      }));
      if (n % 100 === 0) {
        await store.fold();
        wal = Math.max(wal, statSync(`${path}-wal`).size);
        await store.pruneLog({ pool: 'a', rowsMax: 1000, since: 0, sparedSince: NEVER });
      }
    }
    expect(wal).toBeLessThan(8 * 1024 * 1024);
    await store.close();
    expect(statSync(path).size).toBeLessThan(2 * 1024 * 1024);
    expect(slotIds(await libsqlAt(path).open())).toHaveLength(10);
  }, 60_000);
});

describe('the claim', () => {
  test('who lost it writes nothing', async () => {
    const path = join(folder(), 'a.db');
    let told = 0;
    const old = libsqlAt(path, { lost: () => told += 1 });
    await old.open();
    await old.savePools([pool('a')]);
    await old.commit(batch({ leases: [lease('s1')], entries: [entry('1')] }));
    const next = libsqlAt(path);
    expect(slotIds(await next.open())).toEqual(['s1']);
    const lost = { name: 'StoreError', kind: 'lost' };
    expect(told).toBe(0);
    await expect(old.touchKeys(new Map([['k1', 1]]))).rejects.toMatchObject(lost);
    expect(told).toBe(1);
    await expect(old.commit(batch({ leases: [lease('s2')] }))).rejects.toMatchObject(lost);
    expect(told).toBe(2);
    await expect(old.fold()).rejects.toMatchObject(lost);
    expect(told).toBe(3);
    await expect(old.probe()).rejects.toMatchObject(lost);
    expect(told).toBe(4);
    await expect(old.savePools([pool('b')])).rejects.toMatchObject(lost);
    await expect(old.saveKeys([key('k1')])).rejects.toMatchObject(lost);
    await expect(old.removePool('a')).rejects.toMatchObject(lost);
    await expect(old.saveValue('x', '1')).rejects.toMatchObject(lost);
    await expect(old.close()).rejects.toMatchObject(lost);
    expect(await next.readValue('x')).toBeNull();
    await next.close();
    const snapshot = await libsqlAt(path).open();
    expect(snapshot).toMatchObject({ pools: [pool('a')], keys: [] });
    expect(slotIds(snapshot)).toEqual(['s1']);
  });

  test('a lock that another process holds is told, and nothing is opened', async () => {
    const path = join(folder(), 'a.db');
    let locked = '';
    const lock = (of: string) => {
      locked = of;
      return Promise.resolve(false);
    };
    await expect(libsqlAt(path, { lock }).open()).rejects.toMatchObject({ kind: 'owned' });
    expect(locked).toBe(`${path}-lock`);
    expect(existsSync(path)).toBe(false);
  });
});

describe('the claim without a lock', () => {
  const at = (path: string, owner: string, sleep: () => Promise<void>) =>
    unlockedAt(path, { owner, sleep });
  const never = () => Promise.reject(new Error('it waited'));

  test('is not taken from an owner whose beat goes on', async () => {
    const path = join(folder(), 'a.db');
    const owner = at(path, 'o1', never);
    await owner.open();
    let looks = 0;
    const second = at(path, 'o2', async () => {
      looks += 1;
      if (looks === 4) await owner.probe();
    });
    await expect(second.open()).rejects.toMatchObject({ kind: 'owned' });
    expect(looks).toBe(4);
    await expect(owner.probe()).resolves.toBeUndefined();
  });

  test('of a living owner keeps a second start from changing the schema', async () => {
    const path = join(folder(), 'a.db');
    const owner = at(path, 'o1', never);
    await owner.open();
    const client = createClient({ url: `file:${path}` });
    // As if the second start were of a newer version: the last migration is missing.
    await client.execute(
      'DELETE FROM __drizzle_migrations WHERE id = (SELECT max(id) FROM __drizzle_migrations)',
    );
    const hashes = async () =>
      (await client.execute('SELECT hash FROM __drizzle_migrations')).rows.length;
    const before = await hashes();
    const second = at(path, 'o2', () => owner.probe());
    await expect(second.open()).rejects.toMatchObject({ kind: 'owned' });
    expect(await hashes()).toBe(before);
    client.close();
  });

  test('asks its owner to beat thrice before it is taken for silent, a lock does not', () => {
    const path = join(folder(), 'a.db');
    expect(at(path, 'o1', never).beatMs).toBe(2000);
    expect(libsqlAt(path).beatMs).toBe(null);
  });

  test('is taken from an owner that is silent, and at once after a clean end', async () => {
    const path = join(folder(), 'a.db');
    const silent = at(path, 'o1', never);
    await silent.open();
    let waitedMs = 0;
    const second = unlockedAt(path, {
      owner: 'o2',
      sleep: (ms) => Promise.resolve(void (waitedMs += ms)),
    });
    await second.open();
    expect(waitedMs).toBe(6000);
    await expect(silent.probe()).rejects.toMatchObject({ kind: 'lost' });
    await second.close();
    await at(path, 'o3', never).open();
  });

  test('is taken by one of two that waited', async () => {
    const path = join(folder(), 'a.db');
    await at(path, 'o1', never).open();
    const second = at(path, 'o2', () => Promise.resolve());
    let isFirst = true;
    const third = at(path, 'o3', async () => {
      if (isFirst) await second.open();
      isFirst = false;
    });
    await expect(third.open()).rejects.toMatchObject({ kind: 'owned' });
    await expect(second.probe()).resolves.toBeUndefined();
  });
});

test('the log beside the file stays small though each fold is asked for by a reader', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  for (let n = 0; n < 3000; n += 1) {
    await store.commit(batch({ entries: [entry(n.toString(36))] }));
    if (n % 50 === 0) await store.loggedPools();
    await store.foldMuch();
  }
  expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(9 << 20);
  await store.close();
});

test('a store whose last fold fails gives its claim back all the same', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  await store.commit(batch({ entries: [entry('1')] }));
  const client = createClient({ url: `file:${path}` });
  await client.execute(
    `CREATE TRIGGER refusal BEFORE INSERT ON log_segment BEGIN SELECT RAISE(ABORT, 'no'); END`,
  );
  await expect(store.close()).rejects.toThrow('no');
  const { rows } = await client.execute('SELECT owner FROM claim');
  expect(rows[0]?.owner).toBeNull();
  client.close();
});
