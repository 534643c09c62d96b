/** The budget of the binding window: when it stops, when it paces, and what it never believes. */
import { describe, expect, test } from 'vitest';
import type { RateReading } from '../../../src/core/outcome.ts';
import { Driver, OK, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 1000 } as const;
const DAYS_400_MS = 400 * 86_400_000;

function told(reading: RateReading): Driver {
  const driver = new Driver({ concurrency: FIXED });
  driver.end(driver.start(), { ...OK, reading });
  return driver;
}

/** Ms until a start with `ahead` before it, as waiters are told. */
function waitMs(driver: Driver, ahead: number): number {
  return driver.opensAtMs(ahead) - driver.nowMs;
}

describe('the pace', () => {
  test('of a limit that is next to nothing makes nobody wait for more than 400 days', () => {
    const driver = told({ limit: 1e-300, remaining: 1, resetMs: 0, windowMs: 60_000 });
    expect(driver.opensAtMs(2)).toBeLessThanOrEqual(T0 + DAYS_400_MS);
  });
});

describe('waiters beyond what a window leaves', () => {
  test('of a used up one are told the pace of the next, not another whole window', () => {
    const driver = told({ limit: 60, remaining: 0, resetMs: 20_000 });
    expect(waitMs(driver, 0)).toBeLessThanOrEqual(20_250);
    expect(waitMs(driver, 5)).toBeGreaterThan(20_000);
    expect(waitMs(driver, 5)).toBeLessThan(22_000);
    expect(waitMs(driver, 60)).toBeGreaterThan(38_000);
  });

  test('of one that ends with a pause are told so too', () => {
    for (const resetMs of [20_000, 60_000]) {
      const driver = new Driver({ concurrency: FIXED });
      const reading = { limit: 5000, remaining: 0, resetMs, retryAfterMs: resetMs };
      driver.end(driver.start(), { ...THROTTLED, reading });
      expect(waitMs(driver, 0)).toBeGreaterThanOrEqual(resetMs);
      expect(waitMs(driver, 5)).toBeLessThan(resetMs * 1.06);
    }
  });

  test('of one with some left wait for its end, those before them for its pace', () => {
    const driver = told({ limit: 60, remaining: 5, resetMs: 20_000 });
    expect(waitMs(driver, 4)).toBeLessThan(20_000);
    expect(waitMs(driver, 5)).toBeGreaterThan(20_000);
    expect(waitMs(driver, 8)).toBeLessThan(22_000);
  });

  test('go when they were told, within a few paces', () => {
    for (const remaining of [0, 1, 5, 59]) {
      const driver = told({ limit: 60, remaining, resetMs: 20_000 });
      const waits = Array.from({ length: 90 }, (_, ahead) => waitMs(driver, ahead));
      for (const wait of waits) {
        driver.nowMs = driver.opensAtMs();
        expect(driver.isOpen()).toBe(true);
        driver.start();
        const paceMs = wait < 20_000 ? 20_000 / Math.max(1, remaining) : 20_000 / 60;
        expect(Math.abs(driver.nowMs - T0 - wait)).toBeLessThanOrEqual(3 * paceMs);
      }
    }
  });
});
