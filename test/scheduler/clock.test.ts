/**
 * The production clock on fake timers: monotonic whatever the wall clock does, and timers that are
 * longer than the runtime's.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock } from '../../src/scheduler/clock.ts';
import { T0 } from '../support/pools.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Moves the wall clock alone. */
function jump(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

describe('SystemClock.nowMs', () => {
  it('starts at the epoch, and runs on through jumps of the wall clock', () => {
    const clock = new SystemClock();
    expect(clock.nowMs()).toBe(T0);
    vi.advanceTimersByTime(500);
    jump(3_600_000);
    expect(clock.nowMs()).toBe(T0 + 500);
    jump(-7_200_000);
    vi.advanceTimersByTime(1);
    expect(clock.nowMs()).toBe(T0 + 501);
  });
});

describe('SystemClock.shiftMs', () => {
  it('follows a jump of more than 1 s when asked, and no smaller one', () => {
    const clock = new SystemClock();
    jump(1000);
    clock.followWallClock();
    expect(clock.shiftMs).toBe(0);
    jump(1);
    clock.followWallClock();
    expect(clock.shiftMs).toBe(1001);
    jump(-3_600_000);
    expect(clock.shiftMs).toBe(1001);
    clock.followWallClock();
    expect(clock.nowMs() + clock.shiftMs).toBe(Date.now());
  });
});

describe('SystemClock.steadyShiftMs', () => {
  const follow = (clock: SystemClock, ms: number) => {
    for (let passed = 0; passed < ms; passed += 1000) {
      vi.advanceTimersByTime(1000);
      clock.followWallClock();
    }
    return clock.steadyShiftMs;
  };

  it('goes forward with a wall clock that stands there for ten minutes, and no sooner', () => {
    const clock = new SystemClock();
    jump(3_600_000);
    expect(follow(clock, 599_000)).toBe(0);
    jump(60_000);
    expect(follow(clock, 600_000)).toBe(0);
    expect(follow(clock, 1000)).toBe(3_660_000);
  });

  it('goes back with it at once, and forgets that it was ahead', () => {
    const clock = new SystemClock();
    jump(86_400_000);
    expect(follow(clock, 60_000)).toBe(0);
    jump(-86_400_000);
    expect(follow(clock, 1_200_000)).toBe(0);
    jump(-5000);
    expect(follow(clock, 1000)).toBe(-5000);
  });
});

describe('SystemClock.after', () => {
  it('calls once, at the delay', () => {
    const call = vi.fn();
    new SystemClock().after(50, call);
    vi.advanceTimersByTime(49);
    expect(call).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([2 ** 31, 2 ** 32 + 5, 2 ** 40])('waits %i ms, longer than a timer can', (delayMs) => {
    const call = vi.fn();
    new SystemClock().after(delayMs, call);
    vi.advanceTimersByTime(delayMs - 1);
    expect(call).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('never calls once cancelled, in whichever part of a long delay', () => {
    const call = vi.fn();
    const timer = new SystemClock().after(2 ** 32, call);
    vi.advanceTimersByTime(2 ** 31 + 10);
    timer.cancel();
    vi.advanceTimersByTime(2 ** 33);
    expect(call).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes a delay that is past as none', () => {
    const call = vi.fn();
    new SystemClock().after(-5, call);
    vi.advanceTimersByTime(0);
    expect(call).toHaveBeenCalledTimes(1);
  });
});
