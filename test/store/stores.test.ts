/** The contract of stores, run over the table of all of them. */
import { describe, expect, test } from 'vitest';
import { CHANGES_KEPT } from '../../src/core/governor/governor.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import type { LogPage, Retention } from '../../src/store/store.ts';
import { storeFor } from '../../src/store/stores.ts';
import { batch, entry, key, lease, MAKERS, NEVER, pool, T0 } from './samples.ts';

describe.each(MAKERS)('%s store', (_, make) => {
  /** A new one that is open, and what opens its database again. */
  async function opened() {
    const start = make();
    const store = start();
    await store.open();
    return { start, store };
  }

  /** One with so many entries, a ms after the other; prunes it, and tells when those left were. */
  async function logged(length: number) {
    const { store } = await opened();
    const entries = Array.from({ length }, (_, n) => entry(`${n + 10}`, { at: T0 + n }));
    await store.commit(batch({ entries }));
    await store.fold();
    return async (bounds: Omit<Retention, 'pool'>) => {
      while (await store.pruneLog({ pool: 'a', ...bounds }));
      return (await store.readLog({ pool: 'a', limit: 99 })).entries.map(({ at }) => at - T0);
    };
  }

  test('a new database is empty, and says that it is new only once', async () => {
    const start = make();
    const store = start();
    const empty = { pools: [], keys: [], leases: [], governors: [], fence: 0, attempt: 0 };
    expect(await store.open()).toEqual({ ...empty, isNew: true });
    await store.close();
    expect(await start().open()).toEqual({ ...empty, isNew: false });
  });

  test('what was committed is there after a restart, field for field', async () => {
    const { start, store } = await opened();
    const full = lease('s2', { slots: 3, keyId: null, holder: 'ci "7" \u0000 ü\u2028', tokens: 9 });
    await store.savePools([pool('a')]);
    await store.commit(batch({ leases: [lease('s1'), full], fence: 77 }));
    await store.close();
    const { leases } = await start().open();
    expect([...leases].sort((a, b) => a.slotId < b.slotId ? -1 : 1)).toEqual([lease('s1'), full]);
  });

  test('a lease that ended is gone, before and after a fold', async () => {
    const start = make();
    let store = start();
    await store.open();
    await store.savePools([pool('a')]);
    await store.commit(batch({ leases: [lease('s1'), lease('s2'), lease('s3')] }));
    await store.commit(batch({ ended: ['s1'] }));
    await store.fold();
    await store.commit(batch({ ended: ['s2', 'never'] }));
    await store.close();
    store = start();
    expect((await store.open()).leases).toEqual([lease('s3')]);
  });

  test('a batch that is applied again does no harm', async () => {
    const { start, store } = await opened();
    await store.savePools([pool('a')]);
    const twice = batch({ leases: [lease('s1')], ended: ['s0'] });
    await store.commit(twice);
    await store.fold();
    await store.commit(twice);
    await store.commit(batch({ ended: ['s1'] }));
    await store.close();
    expect((await start().open()).leases).toEqual([]);
  });

  test('the highest fence and attempt come back, whatever became of their leases', async () => {
    const { start, store } = await opened();
    await store.savePools([pool('a')]);
    await store.commit(batch({
      leases: [lease('s1', { fence: 900 })],
      entries: [entry('zz', { pool: 'gone' }), entry('10')],
      fence: 901,
    }));
    await store.commit(batch({ ended: ['s1'], entries: [entry('11')], fence: 5 }));
    await store.close();
    expect(await start().open()).toMatchObject({ fence: 901, attempt: 35 * 36 + 35 });
  });

  test('leases of a pool that is gone are dropped', async () => {
    const { start, store } = await opened();
    await store.savePools([pool('a')]);
    await store.commit(batch({ leases: [lease('s1'), lease('s2', { pool: 'b' })] }));
    await store.close();
    expect((await start().open()).leases).toEqual([lease('s1')]);
  });

  test('pools are saved, changed and removed with their keys', async () => {
    const { start, store } = await opened();
    await store.savePools([]);
    await store.savePools([pool('a'), pool('b')]);
    await store.saveKeys([key('k1'), key('k2', { pool: 'b', expiresAt: T0 + 1 })]);
    const changed = pool('a', { settings: '{}', pause: '{"untilMs":null}', isManaged: true });
    await store.savePools([changed]);
    await store.removePool('b');
    await store.close();
    expect(await start().open()).toMatchObject({ pools: [changed], keys: [key('k1')] });
  });

  test('keys are changed with pools in one write, others of the same id stay', async () => {
    const { start, store } = await opened();
    await store.savePools([pool('a')], { saved: [key('k1'), key('k2')], removed: [] });
    await store.savePools([pool('b')], {
      saved: [key('k1', { name: 'new' }), key('k2', { pool: 'b' })],
      removed: [key('k2'), key('never')],
    });
    await store.close();
    const { pools, keys } = await start().open();
    expect(pools).toEqual([pool('a'), pool('b')]);
    expect(keys).toEqual([key('k1', { name: 'new' }), key('k2', { pool: 'b' })]);
  });

  test('keys are saved, touched and removed, each by itself', async () => {
    const { start, store } = await opened();
    await store.savePools([pool('a')]);
    await store.saveKeys([key('k1'), key('k2'), key('k3')]);
    await store.saveKeys([key('k1', { name: 'new' })]);
    await store.saveKeys([]);
    await store.touchKeys(new Map([['k2', T0 + 5], ['never', T0 + 5]]));
    await store.touchKeys(new Map());
    await store.removeKey('a', 'k3');
    await store.removeKey('b', 'k1');
    await store.close();
    expect((await start().open()).keys).toEqual([
      key('k1', { name: 'new' }),
      key('k2', { lastUsedAt: T0 + 5 }),
    ]);
  });

  test('named values are kept', async () => {
    const { start, store } = await opened();
    expect(await store.readValue('x')).toBeNull();
    await store.saveValue('x', '1');
    await store.saveValue('x', '2');
    await store.close();
    const next = start();
    await next.open();
    expect(await next.readValue('x')).toBe('2');
  });

  test('a probe of a sound store resolves', async () => {
    const { store } = await opened();
    await expect(store.probe()).resolves.toBeUndefined();
  });

  test('log entries are read newest first, as soon as they are committed', async () => {
    const { store } = await opened();
    const proxied = {
      method: 'GET',
      path: '/v1?x=…',
      upstreamStatus: null,
      durationMs: 1.5,
      bytesIn: 0,
      bytesOut: 7,
      credential: null,
    };
    const entries = [
      entry('1'),
      entry('2', { outcome: 'client_gone', status: null, reason: 'why', address: null }),
      entry('3', { kind: 'proxy', proxied }),
      entry('4', { outcome: 'rate', count: 400 }),
      entry('5', { kind: 'proxy', proxied: { ...proxied, upstreamStatus: 200 }, count: 2 }),
    ];
    await store.commit(batch({ entries: entries.slice(0, 3) }));
    expect((await store.readLog({ pool: 'a', limit: 10 })).entries).toHaveLength(3);
    await store.commit(batch({ entries: [...entries.slice(3), entry('6', { pool: 'b' })] }));
    const page = await store.readLog({ pool: 'a', limit: 10 });
    expect(page).toEqual({ entries: entries.toReversed(), nextCursor: null });
    expect([...await store.loggedPools()].sort()).toEqual(['a', 'b']);
  });

  test('pages follow each other without a gap, while entries come in', async () => {
    const { store } = await opened();
    const add = (ids: number[]) =>
      store.commit(batch({ entries: ids.map((id) => entry(id.toString(36))) }));
    await add([1, 2, 3]);
    await store.fold();
    await add([4, 5]);
    const first = await store.readLog({ pool: 'a', limit: 2 });
    await add([6]);
    const second = await store.readLog({ pool: 'a', limit: 2, cursor: first.nextCursor ?? '' });
    const third = await store.readLog({ pool: 'a', limit: 2, cursor: second.nextCursor ?? '' });
    const ids = (page: LogPage) => page.entries.map(({ id }) => id);
    expect([ids(first), ids(second), ids(third)]).toEqual([['5', '4'], ['3', '2'], ['1']]);
    expect(third.nextCursor).toBeNull();
  });

  test('the log is filtered by outcome and by instants, both inclusive', async () => {
    const { store } = await opened();
    await store.commit(batch({
      entries: [1, 2, 3, 4].map((n) =>
        entry(`${n}`, { at: T0 + n, outcome: n % 2 === 0 ? 'full' : 'granted' })
      ),
    }));
    const ids = async (more: object) =>
      (await store.readLog({ pool: 'a', limit: 10, ...more })).entries.map(({ id }) => id);
    expect(await ids({ outcome: 'full' })).toEqual(['4', '2']);
    expect(await ids({ outcome: 'ful' })).toEqual([]);
    expect(await ids({ since: T0 + 2, until: T0 + 3 })).toEqual(['3', '2']);
    expect(await ids({ since: T0 + 3, outcome: 'granted' })).toEqual(['3']);
    expect(await ids({ cursor: 'no cursor' })).toEqual([]);
  });

  test('of each pool the newest changes of its governor stay', async () => {
    const { store } = await opened();
    const change = (of: string, to: number) => {
      return { pool: of, at: T0 + to, what: 'limit', from: 0, to, why: 'w', evidence: '' } as const;
    };
    const all = Array.from({ length: CHANGES_KEPT + 5 }, (_, to) => change('a', to));
    await store.savePools([pool('a'), pool('b')]);
    await store.saveGovernors([], [change('b', 1), ...all.slice(0, 9)]);
    await store.saveGovernors([], all.slice(9));
    const kept = await store.readChanges('a', 2 * CHANGES_KEPT);
    expect(kept).toEqual(all.slice(5).reverse());
    expect(await store.readChanges('a', 2)).toEqual(all.slice(-2).reverse());
    expect(await store.readChanges('b', 9)).toEqual([change('b', 1)]);
    await store.removePool('b');
    await store.saveGovernors([{ pool: 'b', saved: '{}' }], [change('b', 2)]);
    await store.savePools([pool('b')]);
    expect(await store.readChanges('b', 9)).toEqual([]);
    await store.close();
    expect((await store.open()).governors).toEqual([]);
  });

  test('sessions and the rings of the history are kept, and overwritten in place', async () => {
    const { store } = await opened();
    const session = { hash: 'h1', createdAt: T0, usedAt: T0 };
    await store.addSession(session);
    await store.addSession({ ...session, hash: 'h2' });
    await store.removeSessions(['h2', 'h3']);
    await store.touchSessions(new Map([[session.hash, T0 + 5], ['h2', T0 + 5]]));
    await store.touchSessions(new Map());
    expect(await store.readSessions()).toEqual([{ ...session, usedAt: T0 + 5 }]);
    const row = { span: '5m', cell: 3, at: T0, points: '{}' };
    await store.saveHistory([row, { ...row, cell: 4 }]);
    await store.saveHistory([{ ...row, at: T0 + 9, points: '[]' }]);
    const rows = [...await store.readHistory()].sort((a, b) => a.cell - b.cell);
    expect(rows).toEqual([{ ...row, at: T0 + 9, points: '[]' }, { ...row, cell: 4 }]);
  });

  test('pruning leaves no entry beyond either bound, nor takes one within both', async () => {
    const prune = await logged(60);
    const left = (rowsMax: number, since: number) => prune({ rowsMax, since, sparedSince: NEVER });
    expect(await left(99, 0)).toHaveLength(60);
    expect(await left(5, T0)).toEqual([59, 58, 57, 56, 55]);
    expect(await left(5, T0 + 57)).toEqual([59, 58, 57]);
    expect(await left(1, T0 + 57)).toEqual([59]);
    expect(await left(0, T0 + 57)).toEqual([]);
  });

  test('pruning spares what is recent beyond the bound of rows, while it is', async () => {
    const prune = await logged(60);
    const left = (rowsMax: number, sparedSince: number) =>
      prune({ rowsMax, since: T0, sparedSince });
    expect(await left(1, T0)).toHaveLength(60);
    expect(await left(0, T0 + 56)).toEqual([59, 58, 57, 56]);
    expect(await left(3, T0 + 58)).toEqual([59, 58, 57]);
    expect(await left(0, T0 + 60)).toEqual([]);
  });

  test('the log of a deleted pool stays, and is pruned away', async () => {
    const { store } = await opened();
    await store.savePools([pool('a')]);
    await store.commit(batch({ entries: [entry('1')] }));
    await store.removePool('a');
    expect(await store.loggedPools()).toEqual(['a']);
    expect(await store.pruneLog({ pool: 'a', rowsMax: 5, since: T0, sparedSince: NEVER })).toBe(
      false,
    );
    expect((await store.readLog({ pool: 'a', limit: 9 })).entries).toHaveLength(1);
    expect(await store.pruneLog({ pool: 'a', rowsMax: 5, since: T0 + 1, sparedSince: NEVER })).toBe(
      false,
    );
    expect(await store.loggedPools()).toEqual([]);
  });
});

test('stores are found by the scheme of the URL', () => {
  const options = { owner: 'o1', sleep: () => Promise.resolve() };
  for (const scheme of ['file:', 'libsql:', 'https:', 'http:', 'wss:', 'ws:', 'memory:']) {
    expect(storeFor({ ...options, url: `${scheme}x` })).not.toBeNull();
  }
  expect(storeFor({ ...options, url: 'MEMORY:' })).toBeInstanceOf(MemoryStore);
  expect(storeFor({ ...options, url: 'postgres://x' })).toBeNull();
  expect(storeFor({ ...options, url: 'data/a.db' })).toBeNull();
});
