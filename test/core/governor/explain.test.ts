/**
 * The status names the gate that holds longest, which is the one that a refused caller is told.
 */
import { describe, expect, test } from 'vitest';
import { shownRate } from '../../../src/core/governor/explain.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import { Driver, OK, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 8 } as const;
const statusOf = (driver: Driver) => driver.governor.status(driver.nowMs);

describe('one call at a time', () => {
  const driver = new Driver({ concurrency: FIXED });
  driver.end(driver.start(), THROTTLED);

  test('says when the next try may go', () => {
    const { reason, nextChangeAt } = statusOf(driver);
    expect(reason).toBe('refused: one call at a time, next try in 1 s');
    expect(nextChangeAt).toBe(driver.opensAtMs());
  });

  test.each([1200, 10_000])('claims no try where nobody calls: after %d ms', (idleMs) => {
    driver.nowMs = T0 + idleMs;
    expect(statusOf(driver)).toMatchObject({
      about: 'pause',
      reason: 'refused: one call at a time, the next call is the try',
      nextChangeAt: null,
    });
  });

  test('says that a try is in flight, and when the others may go at the latest', () => {
    driver.start();
    const { reason, nextChangeAt } = statusOf(driver);
    expect(reason).toBe('refused: one call at a time, a try is in flight');
    expect(nextChangeAt).toBe(driver.opensAtMs());
  });
});

describe('after a pause that came with no refusal', () => {
  test.each([9000, 290_000])('of %d ms, nothing is told to be refused', (retryAfterMs) => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, status: 202, retryAfterMs });
    driver.nowMs = driver.opensAtMs();
    const after = 'after the pause: one call at a time';
    expect(statusOf(driver).reason).toBe(`${after}, the next call is the try`);
    const start = driver.start();
    expect(statusOf(driver).reason).toBe(`${after}, a try is in flight`);
    driver.end(start, THROTTLED);
    expect(statusOf(driver).reason).toMatch(/^(refused: one call at a time|quota used up)/);
  });
});

describe('of several gates', () => {
  const usedUp: Outcome['reading'] = { limit: 100, remaining: 0, resetMs: 600_000 };

  test('headers that leave nothing for 10 minutes go before a try in a second', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...THROTTLED, reading: usedUp });
    const { reason, source, nextChangeAt, about } = statusOf(driver);
    expect({ source, about }).toEqual({ source: 'header', about: 'rate' });
    expect(reason).toBe("the upstream's headers leave nothing for 601 s");
    expect(nextChangeAt).toBe(driver.opensAtMs());
  });

  test('a longer pause goes before headers', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { maxPauseMs: 3_600_000 } });
    const reading = { ...usedUp, retryAfterMs: 900_000 };
    driver.end(driver.start(), { ...THROTTLED, reading });
    expect(statusOf(driver)).toMatchObject({
      about: 'pause',
      reason: 'paused: the upstream asked to hold back for 900 s more',
      nextChangeAt: driver.opensAtMs(),
    });
  });

  test("the operator's rate is told where it is used up, and until when", () => {
    const driver = new Driver({ concurrency: FIXED, rate: { rpm: 2 } });
    expect(statusOf(driver).reason).toBe('fixed by the operator');
    driver.start();
    driver.start();
    driver.nowMs += 2000;
    expect(statusOf(driver)).toMatchObject({
      about: 'rate',
      source: 'operator',
      reason: "the operator's rate of 2 starts a minute leaves none for 58 s",
      nextChangeAt: T0 + 60_000,
    });
  });

  test("the operator's tokens are told where they are used up", () => {
    const driver = new Driver({ concurrency: FIXED, rate: { tpm: 1000 } });
    driver.end(driver.start(900), { ...OK, tokens: 900 });
    expect(statusOf(driver).reason).toBe('fixed by the operator');
    driver.end(driver.start(100), { ...OK, tokens: 100 });
    expect(statusOf(driver)).toMatchObject({
      about: 'rate',
      source: 'operator',
      reason: expect.stringMatching(/^the operator's rate of 1000 tokens a minute leaves none for/),
      nextChangeAt: driver.opensAtMs(0, 1),
    });
  });
});

test('rates are shown with three digits, and whole from 100 on', () => {
  expect([6.0072587410149765, 1 / 6, 59.96, 60, 120.4, 12_345].map(shownRate))
    .toEqual([6.01, 0.167, 60, 60, 120, 12_345]);
});
