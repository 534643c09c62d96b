/** Repeated acquires: the same grant while it is held, joined waits, and what is forgotten. */
import { describe, expect, it } from 'vitest';
import type { Pool } from '../../src/core/pool.ts';
import { isRepeatKey, Repeats } from '../../src/scheduler/repeats.ts';
import type { Clock } from '../../src/scheduler/clock.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import type { Verdict } from '../../src/scheduler/verdict.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { PoolSpec } from '../../src/wire.ts';
import { settings } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

const NOW_MS = 1_767_225_600_000;
const FLUSH_MS = 250;

async function make(store = new MemoryStore()) {
  const { leases, fence, attempt } = await store.open();
  const clock: Clock = {
    shiftMs: 0,
    nowMs: () => NOW_MS,
    preciseMs: () => NOW_MS,
    followWallClock: () => {},
    // Time stands still; flushes alone come with the next turn of the event loop.
    after: (ms, then) => {
      const timer = ms > FLUSH_MS ? undefined : setImmediate(then);
      return { cancel: () => clearImmediate(timer) };
    },
    soon: (then) => void setImmediate(then),
  };
  const events = {
    lapsed: () => {},
    storeFailing: () => {},
    storeRecovered: () => {},
    storeLost: () => {},
    broken: (error: unknown) => {
      throw error;
    },
  };
  const options = { store, clock, fence, attempt, random: () => 0, events };
  const scheduler = new Scheduler(options);
  const settings = PoolSpec.parse({ name: 'p', concurrency: { limit: 1 } });
  const pool = scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, 'p', { settings }));
  await store.savePool({
    name: 'p',
    settings: '',
    createdAt: NOW_MS,
    pause: null,
    isManaged: false,
  });
  scheduler.restore(leases);
  return { store, scheduler, pool, repeats: new Repeats(scheduler) };
}

function ask(more: { waitMs?: number; keyId?: string; signal?: AbortSignal } = {}) {
  const { waitMs = 0, keyId = 'k', signal } = more;
  return {
    door: 'lock',
    slots: 1,
    tokens: 0,
    holder: null,
    address: null,
    waitMs,
    keyId,
    signal: () => signal,
  } as const;
}

function slotOf(verdict: Verdict): string {
  if (verdict.kind === 'refused') throw new Error(`refused: ${verdict.code}`);
  return verdict.lease.slotId;
}

function release(scheduler: Scheduler, pool: Pool, verdict: Verdict): void {
  scheduler.release(pool, slotOf(verdict), { kind: 'ok' });
}

describe('Repeats', () => {
  it('tells a repeat of the same grant while it is held, and grants anew after that', async () => {
    const { scheduler, pool, repeats } = await make();
    const first = await repeats.acquire(pool, ask(), 'a');
    const again = await repeats.acquire(pool, ask(), 'a');
    expect(slotOf(again)).toBe(slotOf(first));
    expect(pool.inUse).toBe(1);
    release(scheduler, pool, first);
    const later = await repeats.acquire(pool, ask(), 'a');
    expect(slotOf(later)).not.toBe(slotOf(first));
  });

  it('knows a key only for the caller key that it came with', async () => {
    const { pool, repeats } = await make();
    await repeats.acquire(pool, ask(), 'a');
    const other = await repeats.acquire(pool, ask({ keyId: 'other' }), 'a');
    expect(other).toMatchObject({ kind: 'refused', reason: 'full' });
  });

  it('asks anew after a refusal', async () => {
    const { scheduler, pool, repeats } = await make();
    const first = await repeats.acquire(pool, ask(), 'a');
    expect(await repeats.acquire(pool, ask(), 'b')).toMatchObject({ kind: 'refused' });
    release(scheduler, pool, first);
    expect(await repeats.acquire(pool, ask(), 'b')).toMatchObject({ kind: 'granted' });
  });

  it('lets a repeat join the wait, which goes on when the first caller hangs up', async () => {
    const { scheduler, pool, repeats } = await make();
    const holder = await repeats.acquire(pool, ask(), 'holder');
    const [one, two] = [new AbortController(), new AbortController()];
    const first = repeats.acquire(pool, ask({ waitMs: 9_000, signal: one.signal }), 'a');
    const second = repeats.acquire(pool, ask({ waitMs: 9_000, signal: two.signal }), 'a');
    expect(pool.queue.length).toBe(1);
    one.abort();
    expect(pool.queue.length).toBe(1);
    release(scheduler, pool, holder);
    expect(slotOf(await second)).toBe(slotOf(await first));
    expect(pool.inUse).toBe(1);
  });

  it('tells a repeat that will not wait where the first one stands', async () => {
    const { pool, repeats } = await make();
    await repeats.acquire(pool, ask(), 'holder');
    void repeats.acquire(pool, ask({ waitMs: 9_000 }), 'a');
    void repeats.acquire(pool, ask({ waitMs: 9_000 }), 'b');
    const told = await repeats.acquire(pool, ask(), 'b');
    expect(told).toMatchObject({ kind: 'refused', reason: 'full', place: 2 });
    expect(pool.queue.length).toBe(2);
  });

  it('leaves the line with its last caller, and a later repeat joins its end', async () => {
    const { pool, repeats } = await make();
    await repeats.acquire(pool, ask(), 'holder');
    const caller = new AbortController();
    const first = repeats.acquire(pool, ask({ waitMs: 9_000, signal: caller.signal }), 'a');
    caller.abort();
    expect(pool.queue.length).toBe(0);
    expect(await first).toMatchObject({ kind: 'refused' });
    void repeats.acquire(pool, ask({ waitMs: 9_000 }), 'a');
    expect(pool.queue.length).toBe(1);
  });

  it('remembers over a restart', async () => {
    const before = await make();
    const first = await before.repeats.acquire(before.pool, ask(), 'a');
    await before.scheduler.journal.settled();
    const after = await make(before.store);
    const again = await after.repeats.acquire(after.pool, ask(), 'a');
    expect(slotOf(again)).toBe(slotOf(first));
    expect(after.pool.inUse).toBe(1);
  });

  it('forgets grants that ended, so that it does not grow for ever', async () => {
    const { scheduler, pool, repeats } = await make();
    for (let i = 0; i < 2_500; i++) {
      release(scheduler, pool, await repeats.acquire(pool, ask(), `key ${i}`));
    }
    expect(repeats.size).toBeLessThanOrEqual(1_000);
  });
});

describe('at its ceiling', () => {
  it('forgets a tenth at once, the oldest, so that it seldom has to look', async () => {
    const rig = new Rig({ pool: settings({ limit: 200 }) });
    const repeats = new Repeats(rig.scheduler, 100);
    const sizes: number[] = [];
    for (let i = 0; i < 100; i++) void repeats.acquire(rig.pool, ask(), `key ${i}`);
    for (let i = 100; i < 112; i++) {
      void repeats.acquire(rig.pool, ask(), `key ${i}`);
      sizes.push(repeats.size);
    }
    expect(sizes).toEqual([91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 91, 92]);
    await rig.clock.settle();
    void repeats.acquire(rig.pool, ask(), 'key 20');
    expect(rig.pool.inUse).toBe(112);
    void repeats.acquire(rig.pool, ask(), 'key 19');
    expect(rig.pool.inUse).toBe(113);
  });
});

describe('a repeat between the grant and its answer', () => {
  async function makeRig(limit: number) {
    const rig = new Rig({ pool: settings({ limit }) });
    const repeats = new Repeats(rig.scheduler);
    const again = (more: Parameters<typeof ask>[0]) => repeats.acquire(rig.pool, ask(more), 'a');
    return { rig, again, held: await rig.hold() };
  }

  it('keeps the slot that it is told of, though the first one hangs up', async () => {
    const { rig, again, held } = await makeRig(1);
    const caller = new AbortController();
    const first = again({ waitMs: 500, signal: caller.signal });
    rig.release(held);
    await rig.clock.settle();
    const second = again({});
    caller.abort();
    await rig.clock.pass(5);
    expect(slotOf(await second)).toBe(slotOf(await first));
    expect(rig.renew({ slotId: slotOf(await second) })).toBe('renewed');
  });

  it('keeps none where all hang up, and a later one is granted anew', async () => {
    const { rig, again, held } = await makeRig(1);
    const callers = [new AbortController(), new AbortController()];
    const asked = callers.map(({ signal }) => again({ waitMs: 500, signal }));
    rig.release(held);
    await rig.clock.settle();
    for (const caller of callers) caller.abort();
    await rig.clock.pass(0);
    expect(await Promise.all(asked)).toMatchObject([{ kind: 'refused' }, { kind: 'refused' }]);
    expect(rig.pool.inUse).toBe(0);
    const later = again({});
    await rig.clock.settle();
    expect(await later).toMatchObject({ kind: 'granted' });
  });

  it('takes no second slot once another hung up while the first is written down', async () => {
    const { rig, again } = await makeRig(3);
    rig.store.hold();
    const first = again({});
    await rig.clock.settle();
    const caller = new AbortController();
    void again({ signal: caller.signal });
    caller.abort();
    const third = again({});
    rig.store.letGo();
    await rig.clock.settle();
    expect(slotOf(await third)).toBe(slotOf(await first));
    expect(rig.pool.inUse).toBe(2);
  });
});

describe('a repeat with a wait of its own', () => {
  function waiting(rig: Rig, repeats: Repeats) {
    return async (waitMs: number, told: string[], signal?: AbortSignal) => {
      const more = signal === undefined ? { waitMs } : { waitMs, signal };
      const verdict = await repeats.acquire(rig.pool, ask(more), 'a');
      const after = `after ${verdict.queuedMs} ms`;
      told.push(`${verdict.kind === 'refused' ? verdict.code : verdict.kind} ${after}`);
    };
  }

  it('is told when that is over, and the first one waits on', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    const held = await rig.hold();
    const [first, second]: string[][] = [[], []];
    void again(400, first!);
    await rig.clock.pass(50);
    void again(100, second!);
    await rig.clock.pass(99);
    expect(second).toEqual([]);
    await rig.clock.pass(1);
    expect(second).toEqual(['queue_timeout after 100 ms']);
    expect(rig.pool.queue.length).toBe(1);
    await rig.clock.pass(50);
    rig.release(held);
    await rig.clock.pass(0);
    expect(first).toEqual(['granted after 200 ms']);
  });

  it('keeps no place for nobody once it is over and the first one is gone', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    await rig.hold();
    const caller = new AbortController();
    const [first, second]: string[][] = [[], []];
    void again(400, first!, caller.signal);
    void again(100, second!);
    caller.abort();
    await rig.clock.pass(99);
    expect(rig.pool.queue.length).toBe(1);
    await rig.clock.pass(1);
    expect(second).toEqual(['queue_timeout after 100 ms']);
    expect(rig.pool.queue.length).toBe(0);
  });

  it('is told of the grant that is being written down when that is over', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    const held = await rig.hold();
    const [first, second]: string[][] = [[], []];
    void again(400, first!);
    void again(100, second!);
    rig.store.hold();
    rig.release(held);
    await rig.clock.pass(150);
    rig.store.letGo();
    await rig.clock.pass(0);
    expect([first, second]).toEqual([['granted after 0 ms'], ['granted after 0 ms']]);
  });
});

describe('isRepeatKey', () => {
  it('takes 1 to 128 visible ASCII characters', () => {
    expect(['a', '!~', 'x'.repeat(128)].map(isRepeatKey)).toEqual([true, true, true]);
    expect(['', 'a b', 'é', 'x'.repeat(129)].map(isRepeatKey)).not.toContain(true);
  });
});
