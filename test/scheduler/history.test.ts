/**
 * The charts' rings: each start is in one cell, whatever happened to the rings meanwhile, and a
 * finished cell is stored, sooner or later.
 */
import { describe, expect, it } from 'vitest';
import { epochMsOf } from '../../src/scheduler/clock.ts';
import { History, SPANS } from '../../src/scheduler/history.ts';
import type { HistoryRow } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store.ts';
import { settings } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

const STEP_MS: number = SPANS['5m'].stepMs;
const DAY_MS = 86_400_000;
const POOLS_MAX = 2_000;

/** A store that keeps rows by their place, and fails when told. */
class Rows {
  readonly kept = new Map<string, HistoryRow>();
  isBroken = false;
  hold: Promise<void> | null = null;

  async saveHistory(rows: readonly HistoryRow[]): Promise<void> {
    const { isBroken } = this;
    await this.hold;
    if (isBroken) throw new StoreError('failed', 'The disk is full.');
    for (const row of rows) this.kept.set(`${row.span} ${row.cell}`, row);
  }

  readHistory(): Promise<HistoryRow[]> {
    return Promise.resolve([...this.kept.values()]);
  }

  /** What was stored of the shortest span, in the order of time. */
  get stored(): unknown[] {
    const rows = [...this.kept.values()].filter(({ span }) => span === '5m');
    return rows.sort((a, b) => a.at - b.at).map(({ points }) => JSON.parse(points));
  }
}

function charts() {
  const rig = new Rig();
  const store = new Rows();
  const history = new History(store, rig.scheduler);
  const { tally } = rig.scheduler.log;
  const step = (ms: number = STEP_MS) => {
    rig.clock.stall(ms);
    history.sample();
  };
  const starts = (pool = 'a', span: keyof typeof SPANS = '5m') =>
    history.read(pool, span).granted.filter((count) => count !== 0);
  return { rig, store, history, tally, step, starts };
}

describe('History.sample', () => {
  it('puts each start and refusal into the cell of its time, once', () => {
    const { tally, step, starts, history } = charts();
    tally.of('a').granted += 3;
    step();
    step();
    tally.of('a').granted += 2;
    tally.of('a').refused += 4;
    step();
    step(60_000);
    expect(starts()).toEqual([3, 2]);
    expect(starts('a', '24h')).toEqual([5]);
    expect(Math.max(...history.read('a', '5m').refused)).toBe(4);
  });

  it('shows the most that were in use and that waited at once, however briefly', async () => {
    const { rig, step, history } = charts();
    step();
    const last = (name: 'inUse' | 'queued') => history.read('a', '5m')[name].slice(-2);
    await rig.hold();
    const second = await rig.hold();
    rig.acquire({ waitMs: 1000 }).caller.abort();
    rig.release(second);
    step();
    expect([last('inUse'), last('queued')]).toEqual([[0, 2], [0, 1]]);
    step();
    expect([last('inUse'), last('queued')]).toEqual([[2, 1], [1, 0]]);
  });

  it('ends with the last step that was noted, not with one that has just begun', () => {
    const { rig, tally, step, history } = charts();
    step();
    tally.of('a').granted += 3;
    step();
    rig.clock.stall(STEP_MS - 1);
    expect(history.read('a', '5m').granted.at(-1)).toBe(3);
    rig.clock.stall(1);
    expect(history.read('a', '5m').granted.at(-1)).toBe(3);
    step(0);
    expect(history.read('a', '5m').granted.slice(-2)).toEqual([3, 0]);
  });

  it('shows no start of before when a pool was idle for a day', () => {
    const { tally, step, starts } = charts();
    tally.of('a').granted += 30;
    step();
    step(DAY_MS + 2 * SPANS['24h'].stepMs);
    expect(starts()).toEqual([]);
    expect(starts('a', '24h')).toEqual([]);
    tally.of('a').granted += 1;
    step();
    expect(starts()).toEqual([1]);
  });

  it('shows no start of before when a pool gets room', () => {
    const { rig, tally, step, starts } = charts();
    for (let i = 0; i <= POOLS_MAX; i++) {
      const name = `p${i}`;
      rig.scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, name, { settings: settings() }));
      tally.of(name).granted += 7;
    }
    step();
    const last = `p${POOLS_MAX}`;
    expect(starts('p0')).toEqual([7]);
    expect(starts(last)).toEqual([]);
    rig.scheduler.turn((nowMs, bouncer) => bouncer.remove(nowMs, 'p0'));
    tally.of(last).granted += 1;
    step();
    expect(starts(last)).toEqual([1]);
  });

  it('begins anew with a pool that is made again under its name', () => {
    const { rig, tally, step, starts } = charts();
    tally.of('a').granted += 3;
    step();
    rig.scheduler.turn((nowMs, bouncer) => bouncer.remove(nowMs, 'a'));
    step();
    rig.scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, 'a', { settings: settings() }));
    tally.of('a').granted += 2;
    step();
    expect(starts()).toEqual([2]);
  });

  it('begins anew with one that is made again before anybody looked', () => {
    const { rig, tally, step, starts } = charts();
    tally.of('a').granted += 3;
    step();
    rig.scheduler.turn((nowMs, bouncer) => {
      bouncer.remove(nowMs, 'a');
      bouncer.create(nowMs, 'a', { settings: settings() });
    });
    expect(starts()).toEqual([]);
  });
});

describe('a wall clock that jumps', () => {
  it('back, shows what comes from then on', () => {
    const { rig, tally, step, starts } = charts();
    tally.of('a').granted += 3;
    step();
    rig.clock.jumpWall(-DAY_MS / 2);
    rig.clock.followWallClock();
    tally.of('a').granted += 2;
    step();
    expect(starts()).toEqual([2]);
    expect(starts('a', '24h')).toEqual([2]);
  });

  it('far ahead for a moment, loses nothing of the day', () => {
    const { rig, tally, step, starts } = charts();
    tally.of('a').granted += 3;
    step();
    for (const ms of [30 * DAY_MS, -30 * DAY_MS]) {
      rig.clock.jumpWall(ms);
      rig.clock.followWallClock();
      step();
    }
    expect(starts('a', '24h')).toEqual([3]);
  });
});

describe('History.save', () => {
  const cell = (granted: number) => ({ a: [0, 2, 0, granted, 0] });

  it('stores by the next call what failed', async () => {
    const { store, history, tally, step } = charts();
    tally.of('a').granted += 3;
    step();
    step();
    store.isBroken = true;
    await history.save();
    expect(store.stored).toEqual([]);
    store.isBroken = false;
    tally.of('a').granted += 1;
    step();
    step();
    await history.save();
    expect(store.stored).toEqual([cell(3), cell(1)]);
  });

  it('puts nothing old in the place of what took it meanwhile', async () => {
    const { store, history, tally, step } = charts();
    tally.of('a').granted += 3;
    step();
    step();
    let fail = () => {};
    store.hold = new Promise((done) => fail = done);
    store.isBroken = true;
    const failing = history.save();
    // One round later the same cell is another step's.
    tally.of('a').granted += 5;
    step(SPANS['5m'].cells * STEP_MS - STEP_MS);
    step();
    fail();
    await failing;
    store.isBroken = false;
    store.hold = null;
    await history.save();
    expect(store.stored).toEqual([cell(5)]);
  });

  it('is read again by the next process', async () => {
    const { rig, store, history, tally, step } = charts();
    tally.of('a').granted += 3;
    step();
    await history.close();
    const next = new History(store, rig.scheduler);
    await next.load();
    expect(next.read('a', '5m').granted.at(-1)).toBe(3);
  });

  it('is left out of the next process where it is of an earlier pool, or no cell', async () => {
    const { rig, store, history, tally, step } = charts();
    tally.of('a').granted += 3;
    step();
    step();
    tally.of('a').granted += 2;
    step();
    await history.close();
    const load = async (createdAt: number) => {
      const next = new History(store, rig.scheduler);
      await next.load(() => createdAt);
      return next.read('a', '5m').granted.filter((count) => count > 0);
    };
    expect(await load(0)).toEqual([3, 2]);
    expect(await load(epochMsOf(rig.clock))).toEqual([2]);
    const last = [...store.kept.values()].find(({ span, points }) =>
      span === '5m' && points.includes(',2,0]')
    )!;
    for (const points of ['{', '7', '{"a":[1,2]}', '{"a":{}}', '{"a":[0,2,0,null,0]}']) {
      store.kept.set(`5m ${last.cell}`, { ...last, points });
      expect(await load(0)).toEqual([3]);
    }
  });
});
