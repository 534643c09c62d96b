/** Tokens that the headers leave: reserved by starts, and given back by what was not used. */
import { describe, expect, test } from 'vitest';
import type { RateReading } from '../../../src/core/outcome.ts';
import { Driver, OK } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 100 } as const;
const BINDING: RateReading = { tokenLimit: 1000, tokenRemaining: 1000, tokenResetMs: 60_000 };
const BESIDE: RateReading = {
  windows: [{ unit: 'tokens', limit: 1000, remaining: 1000, resetMs: 60_000 }],
};

function told(reading: RateReading): Driver {
  const driver = new Driver({ concurrency: FIXED });
  driver.end(driver.start(), { ...OK, reading });
  return driver;
}

/** Ms until `tokens` are let go; `isFirm`: until they are at the earliest. */
function waitMs(driver: Driver, tokens: number, isFirm = false): number {
  const { governor, nowMs } = driver;
  return (isFirm ? governor.firmAtMs(nowMs, tokens, 0) : driver.opensAtMs(0, tokens)) - nowMs;
}

describe.each([['of the binding window', BINDING], ['of a window beside it', BESIDE]])(
  'tokens %s',
  (_, reading) => {
    test('that a call reserved and did not use come back when it ends', () => {
      const driver = told(reading);
      const call = driver.start(900);
      expect(waitMs(driver, 500)).toBeGreaterThan(55_000);
      driver.nowMs += 10_000;
      driver.end(call, { ...OK, tokens: 100 });
      expect(waitMs(driver, 500)).toBeLessThan(50_000);
      driver.nowMs += 45_000;
      expect(waitMs(driver, 500)).toBe(0);
      expect(waitMs(driver, 950)).toBeGreaterThan(4000);
    });

    test('are not sure to be wanting while a running call may give them back', () => {
      const driver = told(reading);
      const call = driver.start(900);
      expect(waitMs(driver, 500, true)).toBe(0);
      driver.end(call, { ...OK, tokens: 900 });
      expect(waitMs(driver, 500, true)).toBeGreaterThan(55_000);
    });

    test('of a call that was never sent come back all', () => {
      const driver = told(reading);
      driver.end(driver.start(900), { kind: 'unsent' });
      driver.nowMs += 59_000;
      expect(waitMs(driver, 1000)).toBe(0);
    });

    test('do not come back to a later window than the call took them from', () => {
      const driver = told(reading);
      const call = driver.start(900);
      driver.nowMs += 61_000;
      const next = driver.start(600);
      driver.end(next, { ...OK, tokens: 600, reading });
      driver.end(driver.start(800), { ...OK, tokens: 800 });
      driver.end(call, { ...OK, tokens: 1 });
      expect(waitMs(driver, 500)).toBeGreaterThan(30_000);
    });
  },
);

test('the pace counts with what calls use of what they reserve', () => {
  const paceMs = (used: number) => {
    const driver = told(BINDING);
    for (let count = 0; count < 40; count += 1) {
      driver.end(driver.start(8), { ...OK, tokens: used });
      driver.nowMs = driver.opensAtMs(0, 8);
    }
    driver.end(driver.start(8), { ...OK, tokens: used });
    return waitMs(driver, 8);
  };
  expect(paceMs(8) / paceMs(2)).toBeGreaterThan(3);
});

test('a call of an earlier process gives nothing back to what an answer told since', () => {
  const driver = new Driver({ concurrency: FIXED });
  const restored = (sequence: number) => ({
    sequence,
    inFlight: 1,
    atMs: driver.nowMs,
    tokens: 900,
  });
  const { governor } = driver;
  governor.ended(driver.nowMs, restored(7), {
    ...OK,
    tokens: 100,
    reading: {
      tokenLimit: 1000,
      tokenRemaining: 200,
      tokenResetMs: 60_000,
    },
  });
  governor.ended(driver.nowMs, restored(8), { ...OK, tokens: 100 });
  expect(waitMs(driver, 500)).toBeGreaterThan(55_000);
});

test('the pace is not sure while a call runs whose end may quicken it', () => {
  const driver = told(BINDING);
  const call = driver.start(100);
  expect(waitMs(driver, 100)).toBeGreaterThan(5000);
  expect(waitMs(driver, 100, true)).toBe(0);
  driver.end(call, { ...OK, tokens: 1 });
  expect(waitMs(driver, 100)).toBeLessThan(6000);
});
