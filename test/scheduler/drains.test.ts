/** Waits for the end of a drain. */
import { beforeEach, describe, expect, it } from 'vitest';
import { settings, T0 } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

describe('whenDrained', () => {
  const { signal } = new AbortController();
  let rig: Rig;

  beforeEach(async () => {
    rig = new Rig({ pool: settings({ termMs: 5000, requestTimeoutMs: 9000 }) });
    await rig.hold();
    rig.pause({ untilMs: Infinity, reason: 'draining' });
  });

  /** Whether the wait is over by now. */
  function drained(): () => Promise<boolean> {
    let isOver = false;
    void rig.scheduler.whenDrained(rig.pool, signal).then(() => isOver = true);
    return async () => {
      await rig.clock.settle();
      return isOver;
    };
  }

  it('ends when the server drains, and keeps nobody waiting after that', async () => {
    const wait = rig.scheduler.whenDrained(rig.pool, signal);
    rig.scheduler.drain();
    await wait;
    await rig.scheduler.whenDrained(rig.pool, signal);
    expect(rig.pool.leases.size).toBe(1);
  });

  it('does not wait for somebody who is gone already', async () => {
    await rig.scheduler.whenDrained(rig.pool, AbortSignal.abort());
    expect(rig.pool.leases.size).toBe(1);
  });

  it('resolves with the last lease of the pool, and at once where there is none', async () => {
    rig.pause(null);
    await rig.hold();
    rig.pause({ untilMs: Infinity, reason: 'draining' });
    const [first, last] = [...rig.pool.leases.values()];
    const isOver = drained();
    rig.release(first!);
    expect(await isOver()).toBe(false);
    rig.release(last!);
    expect(await isOver()).toBe(true);
    await rig.scheduler.whenDrained(rig.pool, signal);
  });

  it('resolves when a lease lapses', async () => {
    const isOver = drained();
    await rig.clock.pass(4999);
    expect(await isOver()).toBe(false);
    await rig.clock.pass(1);
    expect(await isOver()).toBe(true);
  });

  it('resolves when the pool is resumed, by hand or by time, though it is in use', async () => {
    const resumed = drained();
    expect(await resumed()).toBe(false);
    rig.pause(null);
    expect(await resumed()).toBe(true);
    rig.pause({ untilMs: T0 + 300, reason: null });
    const timed = drained();
    await rig.clock.pass(250);
    expect(await timed()).toBe(false);
    await rig.clock.pass(50);
    expect(await timed()).toBe(true);
    expect(rig.pool.inUse).toBe(1);
  });

  it('resolves when nobody asks any more', async () => {
    const asking = new AbortController();
    const wait = rig.scheduler.whenDrained(rig.pool, asking.signal);
    asking.abort();
    await wait;
    expect(rig.pool.inUse).toBe(1);
  });
});
