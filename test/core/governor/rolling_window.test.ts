import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RollingWindow } from '../../../src/core/governor/rolling_window.ts';
import { T0 } from './fixtures.ts';

describe('amounts', () => {
  test('beyond 32 bits leave with their minute as they came', () => {
    const window = new RollingWindow(10_000_000_000, 'tokens');
    window.take(T0, 5_000_000_000);
    expect(window.free(T0)).toBe(5_000_000_000);
    expect(window.entries(T0)).toEqual([[T0, 5_000_000_000]]);
    window.take(T0 + 1, 9e15);
    expect(window.free(T0 + 60_001)).toBe(10_000_000_000);
  });
});

describe('RollingWindow', () => {
  test('opensAtMs is now while units are free, then when the oldest leaves', () => {
    const window = new RollingWindow(2, 'starts');
    window.take(T0, 1);
    expect(window.opensAtMs(T0 + 10, 1, 0)).toBe(T0 + 10);
    window.take(T0 + 10, 1);
    expect(window.opensAtMs(T0 + 20, 1, 0)).toBe(T0 + 60_000);
    expect(window.opensAtMs(T0 + 20, 1, 1)).toBe(T0 + 60_010);
    expect(window.free(T0 + 59_999)).toBe(0);
    expect(window.free(T0 + 60_000)).toBe(1);
  });

  test('opensAtMs changes nothing, however far ahead it asks', () => {
    const window = new RollingWindow(2, 'starts');
    window.take(T0, 2);
    window.opensAtMs(T0 + 70_000, 1, 0);
    expect(window.free(T0 + 1)).toBe(0);
  });

  test('opensAtMs of an amount above the capacity waits for an empty window', () => {
    const window = new RollingWindow(100, 'tokens');
    window.take(T0, 1);
    expect(window.opensAtMs(T0 + 5, 500, 0)).toBe(T0 + 60_000);
    expect(window.opensAtMs(T0 + 60_000, 500, 0)).toBe(T0 + 60_000);
  });

  test('giveBack frees what was not used, but not once it no longer counts', () => {
    const window = new RollingWindow(100, 'tokens');
    window.take(T0, 80);
    window.giveBack(T0 + 1000, T0, 50);
    expect(window.free(T0 + 1000)).toBe(70);
    window.giveBack(T0 + 61_000, T0, 30);
    expect(window.free(T0 + 61_000)).toBe(100);
  });

  test('giveBack frees nothing of what was taken later, once its own counts no longer', () => {
    const window = new RollingWindow(1000, 'tokens');
    window.take(T0, 400);
    window.take(T0 + 30_000, 600);
    window.giveBack(T0 + 61_000, T0, 400);
    expect(window.free(T0 + 61_000)).toBe(400);
  });

  test('starts that are given back leave nothing behind that others would count by', () => {
    const window = new RollingWindow(10, 'starts');
    for (let index = 0; index < 50; index += 1) {
      window.take(T0 + index, 1);
      window.giveBack(T0 + index, T0 + index, 1);
    }
    window.take(T0 + 100, 1);
    window.take(T0 + 59_000, 1);
    expect(window.entries(T0 + 59_000)).toEqual([[T0 + 100, 1], [T0 + 59_000, 1]]);
    expect(window.free(T0 + 60_100)).toBe(9);
  });

  test('take and giveBack in any order count each unit for its own minute', () => {
    const step = fc.record({ gapMs: fc.nat(9000), back: fc.option(fc.nat(20)) });
    fc.assert(fc.property(
      fc.constantFrom(3, 10, 500),
      fc.array(step, { maxLength: 200 }),
      (capacity, steps) => {
        const window = new RollingWindow(capacity, 'starts');
        const graceMs = capacity > 120 ? 500 : 0;
        let taken: number[] = [];
        let nowMs = T0;
        for (const { gapMs, back } of steps) {
          nowMs += gapMs;
          taken = taken.filter((atMs) => atMs > nowMs - 60_000 - graceMs);
          const sure = taken.filter((atMs) => atMs > nowMs - 60_000);
          const atMs = back === null ? undefined : sure[back];
          if (atMs !== undefined) {
            window.giveBack(nowMs, atMs, 1);
            taken.splice(taken.indexOf(atMs), 1);
          } else if (window.free(nowMs) > 0) {
            window.take(nowMs, 1);
            taken.push(nowMs);
          }
          const used = capacity - window.free(nowMs);
          const now = taken.filter((one) => one > nowMs - 60_000).length;
          expect(used).toBeGreaterThanOrEqual(now);
          expect(used).toBeLessThanOrEqual(taken.length);
        }
      },
    ));
  });

  test('firmAtMs counts only what is settled', () => {
    const window = new RollingWindow(100, 'tokens');
    window.take(T0, 40);
    window.take(T0 + 10_000, 50, 50);
    expect(window.opensAtMs(T0 + 10_000, 20, 0)).toBe(T0 + 60_000);
    expect(window.firmAtMs(T0 + 10_000, 60)).toBe(T0 + 10_000);
    expect(window.firmAtMs(T0 + 10_000, 61)).toBe(T0 + 60_000);
    window.settle(T0 + 20_000, T0 + 10_000, 50);
    expect(window.firmAtMs(T0 + 20_000, 20)).toBe(T0 + 60_000);
    expect(window.firmAtMs(T0 + 20_000, 50)).toBe(T0 + 60_000);
    expect(window.firmAtMs(T0 + 20_000, 51)).toBe(T0 + 70_000);
  });

  test('firmAtMs is opensAtMs where nothing is reserved', () => {
    const takes = fc.array(fc.tuple(fc.nat(5000), fc.integer({ min: 1, max: 60 })));
    fc.assert(fc.property(takes, fc.integer({ min: 1, max: 120 }), (taken, amount) => {
      const window = new RollingWindow(100, 'tokens');
      let nowMs = T0;
      for (const [gapMs, units] of taken) window.take(nowMs += gapMs, units);
      expect(window.firmAtMs(nowMs, amount)).toBe(window.opensAtMs(nowMs, amount, 0));
    }));
  });

  test('resized keeps what was taken', () => {
    const window = new RollingWindow(5, 'starts');
    for (let index = 0; index < 5; index += 1) window.take(T0 + index, 1);
    const smaller = window.resized(T0 + 10, 2, 'starts');
    expect(smaller.free(T0 + 10)).toBe(0);
    expect(smaller.opensAtMs(T0 + 10, 1, 0)).toBe(T0 + 60_003);
    const larger = window.resized(T0 + 10, 1000, 'starts');
    expect(larger.free(T0 + 10)).toBe(995);
  });

  test('take whenever it opens never passes the capacity in any rolling minute', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 50, maxLength: 400 }),
        (capacity, gaps) => {
          const window = new RollingWindow(capacity, 'starts');
          const taken: number[] = [];
          let nowMs = T0;
          for (const gapMs of gaps) {
            nowMs += gapMs % 3 === 0 ? 0 : gapMs;
            for (let tries = 0; tries < 20; tries += 1) {
              if (window.opensAtMs(nowMs, 1, 0) > nowMs) break;
              window.take(nowMs, 1);
              taken.push(nowMs);
            }
          }
          for (let index = capacity; index < taken.length; index += 1) {
            expect(taken[index]! - taken[index - capacity]!).toBeGreaterThanOrEqual(60_000);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
