/** Windows that an upstream reports side by side: each holds, whichever of them binds. */
import { describe, expect, test } from 'vitest';
import type { RateReading } from '../../../src/core/outcome.ts';
import { readRates } from '../../../src/upstream/reader.ts';
import { Driver, OK, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 1000 } as const;

/** As the dialects read it: a minute and an hour, joined by name. */
function minuteAndHour(minute: number, hour: number): RateReading {
  return readRates({
    'ratelimit': `"minute";r=${minute};t=30, "hour";r=${hour};t=900`,
    'ratelimit-policy': '"minute";q=60;w=60, "hour";q=1000;w=3600',
  }, { nowMs: T0 });
}

const side = (minute: number, hour: number): RateReading => ({
  limit: 60,
  remaining: minute,
  resetMs: 30_000,
  windows: [
    { name: 'minute', limit: 60, remaining: minute, resetMs: 30_000, windowMs: 60_000 },
    { name: 'hour', limit: 1000, remaining: hour, resetMs: 900_000, windowMs: 3_600_000 },
  ],
});

describe('windows side by side', () => {
  test('a second window that is used up holds until its own reset', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading: side(50, 2) });
    driver.nowMs += 1000;
    driver.start();
    expect(driver.isOpen()).toBe(true);
    driver.start();
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 900_000);
    expect(driver.opensAtMs()).toBeLessThanOrEqual(T0 + 900_250);
    const { reason, rpmRemaining } = driver.governor.status(driver.nowMs);
    expect([reason, rpmRemaining]).toEqual([expect.stringContaining('leave nothing'), 0]);
    driver.nowMs = driver.opensAtMs();
    expect(driver.isOpen()).toBe(true);
  });

  test('the binding window is not forgotten once the other one binds', () => {
    const driver = new Driver({ concurrency: FIXED });
    const first = driver.start();
    driver.end(driver.start(), { ...OK, reading: { ...side(50, 0), resetMs: 900_000 } });
    driver.end(first, { ...OK, reading: side(0, 500) });
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 900_000);
  });

  test('within a window what is left only goes down', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading: side(50, 1) });
    driver.nowMs += 1000;
    driver.end(driver.start(), { ...OK, reading: side(50, 1) });
    driver.nowMs += 5000;
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 800_000);
  });

  test('waiters beyond what a window leaves are told its reset', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading: side(50, 3) });
    expect(driver.opensAtMs(2)).toBeLessThan(T0 + 60_000);
    expect(driver.opensAtMs(3)).toBeGreaterThan(T0 + 900_000);
  });

  test('a window of tokens holds starts with tokens, and only those', () => {
    const driver = new Driver({ concurrency: FIXED });
    const window = { unit: 'tokens', name: 'day', limit: 5000, windowMs: 86_400_000 } as const;
    const windows = [{ ...window, remaining: 100, resetMs: 7_200_000 }];
    driver.end(driver.start(), { ...OK, reading: { windows } });
    expect(driver.isOpen(100)).toBe(true);
    expect(driver.opensAtMs(0, 101)).toBeGreaterThan(T0 + 7_200_000);
    expect(driver.isOpen()).toBe(true);
  });

  test('what has no gate, no count or no reset holds nothing', () => {
    const driver = new Driver({ concurrency: FIXED });
    const windows = [
      { unit: 'points', limit: 10, remaining: 0, resetMs: 60_000 },
      { name: 'a', limit: 10, remaining: 0 },
      { name: 'b', limit: 10, resetMs: 60_000 },
    ] as const;
    driver.end(driver.start(), { ...OK, reading: { windows } });
    expect(driver.isOpen()).toBe(true);
  });

  test('a used up day of no told reset is asked again after a minute', () => {
    const driver = new Driver({ concurrency: FIXED });
    const reading = { limit: 10_000, remaining: 0, windowMs: 86_400_000 };
    driver.end(driver.start(), { ...OK, reading });
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 60_000);
    expect(driver.opensAtMs()).toBeLessThanOrEqual(T0 + 60_250);
    expect(driver.governor.status(T0).since).toBe(T0);
  });

  test('a used up one of known length and no reset holds until it must be over', () => {
    for (
      const reading of [
        { remaining: 0, windowMs: 30_000 },
        { limit: 5, remaining: 0, windowMs: 30_000 },
        { windows: [{ name: 'a', limit: 5, remaining: 0, windowMs: 30_000 }] },
        readRates({ 'ratelimit-limit': '5;w=30', 'ratelimit-remaining': '0;w=30' }, { nowMs: T0 }),
      ]
    ) {
      const driver = new Driver({ concurrency: FIXED });
      const late = driver.start();
      driver.end(driver.start(), { ...OK, reading });
      expect(driver.opensAtMs()).toBeGreaterThan(T0 + 30_000);
      expect(driver.governor.status(T0).reason).toContain('leave nothing');
      // Of the same window: it is not over later than the first report says.
      driver.nowMs += 20_000;
      driver.end(late, { ...OK, reading });
      expect(driver.opensAtMs()).toBeLessThanOrEqual(T0 + 30_250);
      driver.nowMs = driver.opensAtMs();
      expect(driver.isOpen()).toBe(true);
      driver.end(driver.start(), { ...OK, reading });
      expect(driver.opensAtMs()).toBeGreaterThan(T0 + 60_000);
    }
  });

  test('one of known length, no reset, and some left holds nothing', () => {
    const driver = new Driver({ concurrency: FIXED });
    const reading = { limit: 5, remaining: 1, windowMs: 30_000 };
    for (let count = 0; count < 3; count += 1) driver.end(driver.start(), { ...OK, reading });
    expect(driver.isOpen()).toBe(true);
    expect(driver.governor.status(T0).rpm).toBeNull();
  });

  test('headers that lost their trust hold nothing, and forget drops the windows', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
    driver.end(driver.start(), { ...OK, reading: side(50, 0) });
    expect(driver.isOpen()).toBe(false);
    driver.governor.forget(T0);
    expect(driver.isOpen()).toBe(true);
    driver.end(driver.start(), { ...OK, reading: side(50, 1) });
    driver.nowMs += 10_000;
    driver.end(driver.start(), { ...THROTTLED, reading: side(50, 900) });
    driver.nowMs += 10_000;
    expect(driver.opensAtMs()).toBeLessThan(T0 + 60_000);
  });

  test('an hour with a start left is held although the minute binds, as headers tell it', () => {
    const reading = minuteAndHour(0, 1);
    expect(reading).toMatchObject({ limit: 60, remaining: 0, resetMs: 30_000 });
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading });
    driver.nowMs = driver.opensAtMs();
    expect(driver.nowMs).toBeLessThanOrEqual(T0 + 30_250);
    driver.start();
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 900_000);
  });
});
