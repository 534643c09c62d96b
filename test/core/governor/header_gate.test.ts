/** What a refusal does to the trust in headers: those that explain it themselves are believed. */
import { describe, expect, test } from 'vitest';
import type { RateReading } from '../../../src/core/outcome.ts';
import { Driver, OK, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 16 } as const;
const PLENTY = { limit: 100, remaining: 90, resetMs: 60_000 };

/** Whether the headers are believed after a refusal of a call of `tokens` that tells `reading`. */
function isTrustedAfter(reading: RateReading, tokens = 0): boolean {
  const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
  driver.end(driver.start(), { ...OK, reading: PLENTY });
  driver.end(driver.start(tokens), { ...THROTTLED, reading });
  return driver.governor.status(driver.nowMs).trustsHeaders;
}

describe('headers that left plenty of requests are believed after a refusal', () => {
  test.each<[string, RateReading]>([
    ['no tokens are left', { tokenLimit: 1000, tokenRemaining: 0, tokenResetMs: 2000 }],
    ['next to no tokens are left', { tokenLimit: 1000, tokenRemaining: 30, tokenResetMs: 2000 }],
    ['no tokens are left, of nobody knows how many', { tokenRemaining: 0 }],
    ['a window beside them is used up', {
      windows: [{ limit: 700, remaining: 650 }, { limit: 100, remaining: 0, resetMs: 20_000 }],
    }],
    ['a window of something else is used up', {
      windows: [{ unit: 'points', limit: 1000, remaining: 0 }],
    }],
    ['a window that tells a share only is used up', { windows: [{ usedPercent: 100 }] }],
  ])('where %s', (_, told) => {
    expect(isTrustedAfter({ ...PLENTY, ...told })).toBe(true);
  });

  test('where fewer tokens are left than the call asked for', () => {
    const reading = { ...PLENTY, tokenLimit: 1000, tokenRemaining: 200, tokenResetMs: 2000 };
    expect(isTrustedAfter(reading, 300)).toBe(true);
    expect(isTrustedAfter(reading, 100)).toBe(false);
  });

  test('but not where plenty is left of all that they tell', () => {
    expect(isTrustedAfter(PLENTY)).toBe(false);
    expect(isTrustedAfter({ ...PLENTY, windows: [{ limit: 700, remaining: 650 }] })).toBe(false);
    expect(isTrustedAfter({ ...PLENTY, windows: [{ usedPercent: 50 }] })).toBe(false);
    expect(isTrustedAfter({ ...PLENTY, windows: [{ limit: 5 }] })).toBe(false);
  });
});

test('the window that explains a refusal holds the next start, also after a refused scout', () => {
  const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
  const reading = {
    ...PLENTY,
    windows: [{ limit: 700, remaining: 650 }, { limit: 100, remaining: 0, resetMs: 20_000 }],
  };
  for (let count = 0; count < 3; count += 1) {
    driver.end(driver.start(), { ...THROTTLED, reading });
    expect(driver.opensAtMs() - driver.nowMs).toBeGreaterThanOrEqual(20_000);
    driver.nowMs = driver.opensAtMs();
  }
});
