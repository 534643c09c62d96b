/** What upstreams told in headers goes on after a restart, and never for longer than it may. */
import { describe, expect, test } from 'vitest';
import type { Saved } from '../../../src/core/governor/governor.ts';
import type { RateReading } from '../../../src/core/outcome.ts';
import { Driver, OK, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 1000 } as const;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function told(...readings: RateReading[]): Driver {
  const driver = new Driver({ concurrency: FIXED });
  for (const reading of readings) driver.end(driver.start(), { ...OK, reading });
  return driver;
}

/** The next process, `downMs` after the last save of this one. */
function restarted({ governor, nowMs }: Driver, downMs = 0, change: Partial<Saved> = {}): Driver {
  const saved = { ...JSON.parse(JSON.stringify(governor.save(nowMs))), ...change };
  return resumed(saved, nowMs + downMs);
}

function resumed(saved: Saved, nowMs: number): Driver {
  const next = new Driver({ concurrency: FIXED }, { saved, nowMs });
  next.nowMs = nowMs;
  return next;
}

describe('a window over a restart', () => {
  test('that was used up is shut until its own reset, and open from then on', () => {
    const next = restarted(told({ limit: 60, remaining: 0, resetMs: 3_000_000 }), 6000);
    expect(next.opensAtMs()).toBeGreaterThan(T0 + 3_000_000);
    expect(next.opensAtMs()).toBeLessThanOrEqual(T0 + 3_000_250);
    expect(next.governor.status(next.nowMs)).toMatchObject({
      reason: "the upstream's headers leave nothing for 2995 s",
      source: 'header',
      rpmRemaining: 0,
    });
    next.nowMs = next.opensAtMs();
    expect(next.isOpen()).toBe(true);
  });

  test('that had some left keeps what is left, less what was started', () => {
    const driver = told({ limit: 60, remaining: 4, resetMs: HOUR_MS * 2, windowMs: DAY_MS });
    driver.start();
    const next = restarted(driver, 1000);
    for (let count = 0; count < 3; count += 1) {
      expect(next.isOpen()).toBe(true);
      next.start();
    }
    expect(next.opensAtMs()).toBeGreaterThan(T0 + HOUR_MS * 2);
  });

  test('of tokens, and those side by side, hold as well', () => {
    const side = { name: 'hour', limit: 1000, windowMs: HOUR_MS } as const;
    const reading = {
      limit: 60,
      remaining: 50,
      resetMs: 30_000,
      tokenLimit: 9000,
      tokenRemaining: 100,
      tokenResetMs: 40_000,
      windows: [{ ...side, remaining: 0, resetMs: 900_000 }],
    };
    const next = restarted(told(reading));
    expect(next.opensAtMs()).toBeGreaterThan(T0 + 900_000);
    expect(next.opensAtMs(0, 101)).toBeGreaterThan(T0 + 900_000);
    next.nowMs = T0 + 39_000;
    expect(next.governor.status(next.nowMs).tpm).toBe(13_500);
    // The same window told again: what is left only goes down.
    const again = { windows: [{ ...side, remaining: 9, resetMs: 861_000 }] };
    next.end(next.start(), { ...OK, reading: again });
    expect(next.opensAtMs()).toBeGreaterThan(T0 + 900_000);
  });

  test('that has reset meanwhile holds nothing, and is saved no more', () => {
    const driver = told({ limit: 60, remaining: 0, resetMs: 30_000 });
    expect(restarted(driver, 30_000).isOpen()).toBe(true);
    expect(driver.governor.save(T0 + 29_999).windows).toHaveLength(1);
    expect(driver.governor.save(T0 + 30_000).windows).toBeUndefined();
  });

  test('of a month holds although the rest is too old to be believed', () => {
    const next = restarted(told({ limit: 60, remaining: 0, resetMs: 30 * DAY_MS }), 2 * DAY_MS);
    expect(next.opensAtMs()).toBeGreaterThan(T0 + 30 * DAY_MS);
  });

  test('is forgotten with the rest, and goes where learning is switched off', () => {
    const driver = told({ limit: 60, remaining: 0, resetMs: HOUR_MS });
    const saved = driver.governor.save(T0);
    driver.governor.forget(T0);
    expect(restarted(driver).isOpen()).toBe(true);
    const off = new Driver({ concurrency: FIXED, rate: { learn: false } }, { saved });
    expect(off.isOpen()).toBe(true);
  });

  test('is not longer where the wall clock was set back', () => {
    const next = restarted(told({ limit: 60, remaining: 0, resetMs: HOUR_MS }), -30 * DAY_MS);
    expect(next.opensAtMs() - next.nowMs).toBeLessThanOrEqual(HOUR_MS + 250);
  });

  test('never shuts for more than 400 days, whatever was saved', () => {
    const window = { unit: 'starts', key: null, limit: 1, remaining: 0, windowMs: 0 } as const;
    for (const resetAtMs of [T0 + 401 * DAY_MS, 8.64e15]) {
      const saved = {
        ...told().governor.save(T0),
        windows: [{ ...window, resetAtMs }, { ...window, key: 'x', resetAtMs }],
        distrustedUntilMs: resetAtMs,
      };
      const next = resumed(saved, T0);
      expect(next.isOpen()).toBe(true);
      expect(next.governor.status(T0).trustsHeaders).toBe(false);
      expect(next.governor.status(T0 + 600_000).trustsHeaders).toBe(true);
    }
  });
});

describe('over a restart', () => {
  test('headers that lost their trust have lost it still', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
    driver.end(driver.start(), {
      ...OK,
      reading: { limit: 60, remaining: 50, resetMs: 30_000 },
    });
    driver.nowMs += 1000;
    driver.end(driver.start(), THROTTLED);
    expect(driver.governor.status(driver.nowMs).trustsHeaders).toBe(false);
    const next = restarted(driver, 60_000);
    next.end(next.start(), { ...OK, reading: { limit: 60, remaining: 0, resetMs: 30_000 } });
    expect(next.isOpen()).toBe(true);
    expect(next.governor.status(T0 + 601_000).trustsHeaders).toBe(true);
  });

  test('the refusals of the last hour still count, and leave with their hour', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'concurrency' } });
    driver.rounds(1, 100, THROTTLED);
    const { refusedLastHour } = driver.governor.status(driver.nowMs);
    expect(refusedLastHour).toBe(1000);
    const next = restarted(driver, HOUR_MS / 2);
    expect(next.governor.status(next.nowMs).refusedLastHour).toBe(1000);
    expect(next.governor.status(T0 + HOUR_MS + 400_000).refusedLastHour).toBe(0);
    expect(restarted(driver, HOUR_MS + 400_000).governor.save(T0).refusals).toBeUndefined();
  });
});
