/**
 * The one timer of a scheduler.
 */
import { describe, expect, it, vi } from 'vitest';
import { Alarm } from '../../src/scheduler/alarm.ts';
import { ManualClock } from '../support/manual_clock.ts';
import { T0 } from '../support/pools.ts';

describe('Alarm', () => {
  it('rings once at the earliest instant that it was set to', async () => {
    const clock = new ManualClock();
    const ring = vi.fn();
    const alarm = new Alarm(clock, ring);
    for (const atMs of [T0 + 50, T0 + 20, T0 + 90, Infinity]) alarm.set(atMs);
    expect(clock.armed).toBe(1);
    await clock.pass(19);
    expect(ring).not.toHaveBeenCalled();
    await clock.pass(200);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  it('can be set anew while it rings, and rings no more once cancelled', async () => {
    const clock = new ManualClock();
    const rungAtMs: number[] = [];
    const alarm: Alarm = new Alarm(clock, () => {
      rungAtMs.push(clock.nowMs() - T0);
      alarm.set(clock.nowMs() + 10);
    });
    alarm.set(T0);
    await clock.pass(25);
    alarm.cancel();
    await clock.pass(100);
    expect(rungAtMs).toEqual([0, 10, 20]);
  });
});
