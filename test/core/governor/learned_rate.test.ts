import { describe, expect, test } from 'vitest';
import { LearnedRate } from '../../../src/core/governor/learned_rate.ts';
import { T0 } from './fixtures.ts';

/** Starts `count` calls evenly over `spanMs`, from `fromMs` on. */
function start(rate: LearnedRate, fromMs: number, count: number, spanMs: number): void {
  for (let call = 0; call < count; call += 1) {
    rate.started(fromMs + Math.floor((call * spanMs) / count), false);
  }
}

describe('LearnedRate', () => {
  test('a window of a minute that was used up at once gives its size a minute', () => {
    const rate = new LearnedRate();
    start(rate, T0, 300, 3000);
    rate.ranDry(T0 + 3100);
    expect(rate.windowEndMs).toBeGreaterThan(T0 + 60_000);
    rate.started(T0 + 61_000, true);
    rate.reopened(T0 + 61_000, 10);
    expect(rate.perSecond).toBeCloseTo(4.9, 2);
  });

  test('a bucket gives what was accepted over the whole cycle, its wait included', () => {
    const rate = new LearnedRate();
    start(rate, T0, 39, 4000);
    rate.ranDry(T0 + 4000);
    rate.started(T0 + 4500, true);
    rate.reopened(T0 + 4500, 1);
    expect(rate.perSecond).toBeCloseTo((0.98 * 39) / 4.5, 1);
  });

  test('too few calls, or too short a time, teach nothing', () => {
    const rate = new LearnedRate();
    start(rate, T0, 3, 100);
    rate.ranDry(T0 + 200);
    rate.reopened(T0 + 700, 1);
    expect(rate.perSecond).toBeNull();
    expect(rate.isDry).toBe(false);
  });

  test('restart after a quota learns nothing from its length', () => {
    const rate = new LearnedRate();
    start(rate, T0, 1500, 25_000);
    rate.ranDry(T0 + 25_000);
    rate.restart(T0 + 1_800_000);
    expect(rate.perSecond).toBeNull();
    expect(rate.isDry).toBe(false);
  });

  test('a slow rate grows only once several starts went at it', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 0.05, 0);
    let nowMs = T0;
    for (let count = 0; count < 7; count += 1) {
      nowMs = rate.opensAtMs(nowMs, 0);
      rate.started(nowMs, false);
      expect(rate.grow(nowMs, Infinity)).toBeNull();
    }
    expect(rate.growsAtMs).toBe(T0 + 160_000);
    expect(rate.grow(T0 + 160_000, Infinity)).not.toBeNull();
  });

  test('a refused start is taken back', () => {
    const rate = new LearnedRate();
    rate.started(T0, false);
    rate.started(T0 + 1, false);
    rate.uncount(T0 + 1);
    expect(rate.acceptedTotal).toBe(1);
  });

  test('opensAtMs paces at the rate, two at once at most', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 2, 0);
    expect(rate.opensAtMs(T0, 0)).toBe(T0);
    rate.started(T0, false);
    expect(rate.opensAtMs(T0, 0)).toBe(T0 + 500);
    expect(rate.opensAtMs(T0, 10)).toBe(T0 + 5500);
    expect(rate.opensAtMs(T0 + 60_000, 0)).toBe(T0 + 60_000);
    rate.started(T0 + 60_000, false);
    rate.started(T0 + 60_000, false);
    expect(rate.opensAtMs(T0 + 60_000, 0)).toBe(T0 + 60_500);
  });

  test('what was held back by other means has stored no burst', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 2, 0);
    rate.started(T0 + 60_000, true);
    expect(rate.opensAtMs(T0 + 60_000, 0)).toBe(T0 + 60_500);
  });

  test.each([
    ['halves a rate that was in force', false, 5],
    ['lowers one that had just grown by a tenth', true, 9],
  ])('a drought %s, at most', (_, hasGrown, perSecond) => {
    const rate = new LearnedRate();
    rate.seed(T0, 10, 0);
    let nowMs = T0;
    for (let count = 0; count < 200; count += 1) {
      nowMs = rate.opensAtMs(nowMs, 0);
      rate.started(nowMs, false);
    }
    if (hasGrown) expect(rate.grow(nowMs, Infinity)).not.toBeNull();
    rate.ranDry(nowMs);
    rate.cut(nowMs);
    const carried = rate.perSecond ?? NaN;
    // A drought so long that what was accepted tells of next to nothing.
    rate.started(nowMs + 100_000, true);
    rate.reopened(nowMs + 100_000, 0);
    expect(rate.perSecond).toBeCloseTo(perSecond / 10 * carried);
  });

  test('grow waits longer than the memory of the upstream, and a cut undoes it', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 2, 60_000);
    let nowMs = T0;
    const run = (untilMs: number) => {
      for (; nowMs < untilMs; nowMs = Math.max(nowMs + 1, rate.opensAtMs(nowMs, 0))) {
        rate.started(nowMs, false);
      }
    };
    run(T0 + 65_000);
    expect(rate.grow(nowMs, Infinity)).toBeNull();
    run(T0 + 67_000);
    expect(rate.grow(nowMs, Infinity)).not.toBeNull();
    expect(rate.perSecond).toBeCloseTo(2.04);
    expect(rate.isTrial).toBe(true);
    expect(rate.provenPerSecond).toBe(2);
    rate.cut(nowMs);
    expect(rate.perSecond).toBe(2);
    expect(rate.isTrial).toBe(false);
  });

  test('grow never passes the ceiling of the operator', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 2, 0);
    for (let step = 1; step < 20; step += 1) {
      for (let call = 0; call < 40; call += 1) {
        rate.started(rate.opensAtMs(T0 + step * 20_000, 0), false);
      }
      rate.grow(T0 + step * 20_000 + 19_000, 2.5);
    }
    expect(rate.perSecond).toBeLessThanOrEqual(2.5);
  });

  test('a rate that does not hold back for long is dropped', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 2, 0);
    for (let minute = 1; minute < 25; minute += 1) {
      rate.started(T0 + minute * 60_000, false);
      rate.grow(T0 + minute * 60_000, Infinity);
    }
    expect(rate.isActive).toBe(false);
  });

  test('cuts without end leave a start a minute', () => {
    const rate = new LearnedRate();
    rate.seed(T0, 1, 0);
    for (let count = 0; count < 1000; count += 1) rate.cut(T0 + count * 1000);
    expect(rate.perSecond).toBeCloseTo(1 / 60);
  });
});
