/** Repeated acquires: the same grant while it is held, joined waits, and what is forgotten. */
import { describe, expect, it } from 'vitest';
import type { Pool } from '../../src/core/pool.ts';
import { isRepeatKey, Repeats } from '../../src/scheduler/repeats.ts';
import type { Clock } from '../../src/scheduler/clock.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import type { Verdict } from '../../src/scheduler/verdict.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { PoolSpec } from '../../src/wire.ts';
import { QUIET } from '../support/events.ts';
import { settings } from '../support/pools.ts';
import { ask, slotOf } from '../support/repeats.ts';
import { Rig } from '../support/rig.ts';

const NOW_MS = 1_767_225_600_000;
const FLUSH_MS = 250;

async function make(store = new MemoryStore()) {
  const { leases, fence, attempt } = await store.open();
  const clock: Clock = {
    shiftMs: 0,
    steadyShiftMs: 0,
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
  const options = { store, clock, fence, attempt, random: () => 0, events: QUIET };
  const scheduler = new Scheduler(options);
  const settings = PoolSpec.parse({ name: 'p', concurrency: { limit: 1 } });
  const pool = scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, 'p', { settings }));
  await store.savePools([{
    name: 'p',
    settings: '',
    createdAt: NOW_MS,
    pause: null,
    isManaged: false,
  }]);
  scheduler.restore(leases);
  return { store, scheduler, pool, repeats: new Repeats(scheduler) };
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

  it('grants anew once the lease has run out, however late the timer is', async () => {
    const rig = new Rig({ pool: settings({ limit: 1 }) });
    const repeats = new Repeats(rig.scheduler);
    const first = repeats.acquire(rig.pool, ask(), 'a');
    await rig.clock.settle();
    rig.clock.stall(100);
    const again = repeats.acquire(rig.pool, ask(), 'a');
    await rig.clock.settle();
    expect(slotOf(await again)).not.toBe(slotOf(await first));
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

describe('isRepeatKey', () => {
  it('takes 1 to 128 visible ASCII characters', () => {
    expect(['a', '!~', 'x'.repeat(128)].map(isRepeatKey)).toEqual([true, true, true]);
    expect(['', 'a b', 'é', 'x'.repeat(129)].map(isRepeatKey)).not.toContain(true);
  });
});
