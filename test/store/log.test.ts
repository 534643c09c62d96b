/** The access log in segments, against a naive model: pages, filters and pruning. */
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogEntry } from '../../src/store/entry.ts';
import type { LibsqlStore } from '../../src/store/libsql.ts';
import type { LogQuery } from '../../src/store/store.ts';
import { batch, entry, folder, lease, libsqlAt, NEVER, openedWithSegments, T0 } from './samples.ts';

const DAY_MS = 86_400_000;

const OUTCOMES = ['granted', 'too_many_requests', 'unauthorized'] as const;

/** Follows the pages to the end; so many that it cannot loop for ever. */
async function readAll(store: LibsqlStore, query: LogQuery): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  let cursor: string | null | undefined;
  for (let pages = 0; cursor !== null; pages += 1) {
    expect(pages).toBeLessThan(200);
    const page = await store.readLog({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.entries.length).toBeLessThanOrEqual(query.limit);
    all.push(...page.entries);
    cursor = page.nextCursor;
  }
  return all;
}

/** The segments of all pools, as they stand in the file. */
async function segmentsAt(path: string): Promise<{ pool: string; count: number }[]> {
  const reader = createClient({ url: `file:${path}` });
  const { rows } = await reader.execute('SELECT pool, count FROM log_segment ORDER BY pool, last');
  reader.close();
  return rows.map(({ pool, count }) => ({ pool: String(pool), count: Number(count) }));
}

test('every filter and page size gives what a search of all entries gives', async () => {
  const logged = fc.record({
    pool: fc.constantFrom('a', 'b'),
    outcome: fc.constantFrom(...OUTCOMES),
    keyId: fc.constantFrom('k1', 'k2', null),
    after: fc.integer({ min: -20, max: 20 }),
    copies: fc.constantFrom(1, 1, 1, 2, 40, 700),
    isFolded: fc.boolean(),
  });
  const asked = fc.record({
    pool: fc.constantFrom('a', 'b', 'c'),
    limit: fc.constantFrom(1, 3, 100, 1000),
    outcome: fc.option(fc.constantFrom(...OUTCOMES, 'grant'), { nil: undefined }),
    keyId: fc.option(fc.constantFrom('k1', 'k2', 'k'), { nil: undefined }),
    since: fc.option(fc.integer({ min: -20, max: 20 }), { nil: undefined }),
    until: fc.option(fc.integer({ min: -20, max: 20 }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(logged, { maxLength: 12 }),
      fc.array(asked, { minLength: 1, maxLength: 5 }),
      async (groups, queries) => {
        const store = libsqlAt(join(folder(), 'a.db'));
        await store.open();
        const all: LogEntry[] = [];
        for (const { pool, outcome, keyId, after, copies, isFolded } of groups) {
          const entries = Array.from(
            { length: copies },
            (_, n) =>
              entry((all.length + n).toString(36), {
                pool,
                outcome,
                keyId,
                at: T0 + after + (n % 3),
              }),
          );
          all.push(...entries);
          await store.commit(batch({ entries }));
          if (isFolded) await store.fold();
        }
        for (const { pool, limit, outcome, keyId, since, until } of queries) {
          const wanted = all.filter((one) =>
            one.pool === pool && (outcome === undefined || one.outcome === outcome) &&
            (keyId === undefined || one.keyId === keyId) &&
            (since === undefined || one.at >= T0 + since) &&
            (until === undefined || one.at <= T0 + until)
          ).reverse();
          const query = {
            pool,
            limit: wanted.length > 150 * limit ? 100 : limit,
            ...(outcome === undefined ? {} : { outcome }),
            ...(keyId === undefined ? {} : { keyId }),
            ...(since === undefined ? {} : { since: T0 + since }),
            ...(until === undefined ? {} : { until: T0 + until }),
          };
          expect(await readAll(store, query)).toEqual(wanted);
        }
        await store.close();
      },
    ),
    { numRuns: 60 },
  );
});

test('one call looks through a long log for what a filter asks', async () => {
  const store = await openedWithSegments(join(folder(), 'a.db'), 25_000);
  const asked = { pool: 'a', limit: 10 };
  expect(await store.readLog({ ...asked, outcome: 'rare' })).toEqual({
    entries: [],
    nextCursor: null,
  });
  const oldest = await store.readLog({ ...asked, until: T0 + 12 });
  expect(oldest.entries.map(({ id }) => id)).toEqual(
    ['s12', 's11', 's10', 's9', 's8', 's7', 's6', 's5', 's4', 's3'],
  );
  const page = await store.readLog({ pool: 'a', limit: 1000, keyId: 'k1' });
  expect(page.entries).toEqual([]);
  await store.close();
});

test('one call looks at a bounded part of a log, and says where to go on', async () => {
  const store = await openedWithSegments(join(folder(), 'a.db'), 200_050);
  const asked = { pool: 'a', limit: 10, until: T0 + 2 };
  const first = await store.readLog(asked);
  expect(first).toEqual({ entries: [], nextCursor: '51' });
  const second = await store.readLog({ ...asked, cursor: '51' });
  expect(second.entries.map(({ id }) => id)).toEqual(['s2', 's1']);
  expect(second.nextCursor).toBeNull();
  await store.close();
}, 30_000);

test('pruning leaves exactly what the bounds say', async () => {
  const group = fc.record({
    copies: fc.constantFrom(1, 2, 30, 520),
    step: fc.integer({ min: 0, max: 5 }),
    isFolded: fc.boolean(),
    isPruned: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(group, { maxLength: 10 }),
      fc.constantFrom(0, 1, 5, 600, 5000),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: -1, max: 15 }),
      async (groups, rowsMax, age, sparedAge) => {
        const path = join(folder(), 'a.db');
        const store = libsqlAt(path);
        await store.open();
        const all: LogEntry[] = [];
        let at = T0;
        const prune = async () => {
          const retention = { pool: 'a', rowsMax, since: at - age, sparedSince: at - sparedAge };
          for (let steps = 0; await store.pruneLog(retention); steps += 1) {
            expect(steps).toBeLessThan(100);
          }
        };
        for (const { copies, step, isFolded, isPruned } of groups) {
          at += step;
          const entries = Array.from(
            { length: copies },
            (_, n) => entry((all.length + n).toString(36), { at }),
          );
          all.unshift(...entries.toReversed());
          const other = entry((all.length + copies).toString(36), { pool: 'b' });
          await store.commit(batch({ entries: [...entries, other] }));
          if (isFolded) await store.fold();
          if (isPruned) await prune();
        }
        await store.fold();
        await prune();
        const since = at - age;
        const kept = await readAll(store, { pool: 'a', limit: 1000 });
        expect(kept).toEqual(
          all.filter((one, n) => one.at >= since && (n < rowsMax || one.at >= at - sparedAge)),
        );
        expect(await readAll(store, { pool: 'b', limit: 1000 })).toHaveLength(groups.length);
        await store.close();
      },
    ),
    { numRuns: 40 },
  );
});

test('a segment that cannot be read is left out, and pruned like the others', async () => {
  const path = join(folder(), 'a.db');
  const store = await openedWithSegments(path, 5);
  const client = createClient({ url: `file:${path}` });
  const unreadable = ['{', '{}', 'null', '[7]'];
  for (const text of unreadable) {
    await client.execute({
      sql: 'UPDATE log_segment SET entries = ? WHERE last = 3',
      args: [text],
    });
    const page = await store.readLog({ pool: 'a', limit: 1000 });
    expect([text, page.entries.map(({ id }) => id)]).toEqual([text, ['s5', 's4', 's2', 's1']]);
  }
  client.close();
  const retention = { pool: 'a', rowsMax: 1000, sparedSince: T0 + 100 };
  while (await store.pruneLog({ ...retention, since: T0 + 4 }));
  expect(await segmentsAt(path)).toEqual([{ pool: 'a', count: 1 }, { pool: 'a', count: 1 }]);
  await store.close();
});

test('a cursor goes on where it was when the segment that it is in was cut meanwhile', async () => {
  const store = libsqlAt(join(folder(), 'a.db'));
  await store.open();
  const entries = [1, 2, 3, 4, 5, 6].map((n) => entry(`${n}`, { outcome: n > 2 ? 'full' : 'ok' }));
  await store.commit(batch({ entries }));
  const first = await store.readLog({ pool: 'a', limit: 2 });
  await store.pruneLog({ pool: 'a', rowsMax: 4, since: 0, sparedSince: NEVER });
  const cursor = first.nextCursor ?? '';
  const second = await store.readLog({ pool: 'a', limit: 9, cursor });
  expect(second).toMatchObject({ entries: [{ id: '4' }, { id: '3' }], nextCursor: null });
  expect((await store.readLog({ pool: 'a', limit: 9, outcome: 'ok' })).entries).toEqual([]);
});

test('calls that come one by one share a segment, for their fold waits for more', async () => {
  const path = join(folder(), 'a.db');
  const store = libsqlAt(path);
  await store.open();
  for (let n = 1; n <= 60; n += 1) {
    await store.commit(batch({ entries: [entry(n.toString(36)), entry('x', { pool: 'b' })] }));
    await store.foldMuch();
  }
  expect(await readAll(store, { pool: 'a', limit: 100 })).toHaveLength(60);
  await store.close();
  expect(await segmentsAt(path)).toEqual([{ pool: 'a', count: 60 }, { pool: 'b', count: 60 }]);
});

test('what waits to be folded is folded once it is much', async () => {
  const path = join(folder(), 'a.db');
  const store = libsqlAt(path);
  await store.open();
  const entries = Array.from({ length: 500 }, (_, n) => entry(n.toString(36)));
  await store.commit(batch({ entries }));
  await store.foldMuch();
  expect(await segmentsAt(path)).toEqual([]);
  await store.commit(
    batch({ entries, leases: Array.from({ length: 900 }, (_, n) => lease(`${n}`)) }),
  );
  await store.foldMuch();
  expect(await segmentsAt(path)).toEqual([{ pool: 'a', count: 500 }, { pool: 'a', count: 500 }]);
  await store.close();
});

test('many small runs are pruned in steps', async () => {
  const store = libsqlAt(join(folder(), 'a.db'));
  await store.open();
  for (let n = 1; n <= 250; n += 1) {
    await store.commit(batch({ entries: [entry(n.toString(36))] }));
    await store.fold();
  }
  const prune = () => store.pruneLog({ pool: 'a', rowsMax: 10, since: 0, sparedSince: NEVER });
  expect([await prune(), await prune(), await prune(), await prune()])
    .toEqual([true, true, false, false]);
  const left = await readAll(store, { pool: 'a', limit: 3 });
  expect(left.map(({ id }) => parseInt(id, 36)))
    .toEqual([250, 249, 248, 247, 246, 245, 244, 243, 242, 241]);
});

test('what is too old goes from behind what is not where the clock was set back', async () => {
  const store = await openedWithSegments(join(folder(), 'a.db'), 300);
  const entries = Array.from({ length: 500 }, (_, n) => entry(`y${n}`, { at: T0 - 9 }));
  await store.commit(batch({ entries }));
  await store.commit(batch({ entries: [entry('z', { at: T0 + 1 })] }));
  await store.fold();
  const prune = async (since: number) => {
    while (await store.pruneLog({ pool: 'a', rowsMax: 9_999, since, sparedSince: NEVER }));
    return (await readAll(store, { pool: 'a', limit: 1000 })).length;
  };
  expect(await prune(T0 - DAY_MS)).toBe(801);
  expect(await prune(T0)).toBe(301);
  await store.close();
});

test('a page that is read while segments are pruned leaves those out', async () => {
  // At some of these moments the page has looked the segments up and not yet read them.
  for (let moment = 0; moment < 12; moment += 1) {
    const store = libsqlAt(join(folder(), 'a.db'));
    await store.open();
    for (let n = 1; n <= 3; n += 1) {
      await store.commit(batch({ entries: [entry(n.toString(36))] }));
      await store.fold();
    }
    const reading = store.readLog({ pool: 'a', limit: 99 });
    for (let turn = 0; turn < moment; turn += 1) await Promise.resolve();
    await store.pruneLog({ pool: 'a', rowsMax: 1, since: 0, sparedSince: NEVER });
    const { entries } = await reading;
    expect([1, 3]).toContain(entries.length);
    expect(entries[0]?.id).toBe('3');
    await store.close();
  }
});
