/** The budget of the binding window: when it stops, when it paces, and what it never believes. */
import { describe, expect, test } from 'vitest';
import { Driver, OK, T0 } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 1000 } as const;
const DAYS_400_MS = 400 * 86_400_000;

describe('the pace', () => {
  test('of a limit that is next to nothing makes nobody wait for more than 400 days', () => {
    const driver = new Driver({ concurrency: FIXED });
    const reading = { limit: 1e-300, remaining: 1, resetMs: 0, windowMs: 60_000 };
    driver.end(driver.start(), { ...OK, reading });
    expect(driver.opensAtMs(2)).toBeLessThanOrEqual(T0 + DAYS_400_MS);
  });
});
