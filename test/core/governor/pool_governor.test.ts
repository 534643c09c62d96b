/**
 * The governor from outside: its limit, pauses, scouts and what it makes of headers.
 */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/core/outcome.ts';
import { Driver, OK, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 8 } as const;

function throttled(more: Partial<Outcome>): Outcome {
  return { ...THROTTLED, ...more };
}

describe('limit', () => {
  test('adaptive starts at the configured limit, fixed stays there', () => {
    expect(new Driver({ concurrency: { limit: 7 } }).governor.limit).toBe(7);
    const fixed = new Driver({ concurrency: FIXED });
    fixed.rounds(20, 500);
    fixed.rounds(20, 500, THROTTLED);
    expect(fixed.governor.limit).toBe(8);
  });

  test('grows only while all slots are in use', () => {
    const driver = new Driver({ concurrency: { limit: 4 } });
    for (let count = 0; count < 50; count += 1) {
      const start = driver.start();
      driver.nowMs += 100;
      driver.end(start);
    }
    expect(driver.governor.limit).toBe(4);
    driver.rounds(3, 500);
    expect(driver.governor.limit).toBeGreaterThan(4);
  });

  test('a refusal of a grown level gives back the step, no more', () => {
    const driver = new Driver({ concurrency: { limit: 4 } });
    driver.rounds(1, 500);
    expect(driver.governor.limit).toBe(5);
    const starts = driver.fill();
    driver.nowMs += 50;
    driver.end(starts.pop()!, THROTTLED);
    expect(driver.governor.limit).toBe(4);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({ ceiling: 5, effectiveLimit: 4 });
  });

  test('several refusals of one flight are one event', () => {
    const driver = new Driver({ concurrency: { limit: 20 } });
    const starts = driver.fill();
    driver.nowMs += 50;
    for (const start of starts) driver.end(start, THROTTLED);
    expect(driver.governor.limit).toBeGreaterThanOrEqual(10);
  });

  test('never leaves [min, max], whatever is refused', () => {
    const driver = new Driver({ concurrency: { limit: 4, min: 2, max: 6 } });
    driver.rounds(50, 200);
    expect(driver.governor.limit).toBe(6);
    for (let count = 0; count < 200; count += 1) {
      const start = driver.start();
      driver.nowMs += 50;
      driver.end(start, THROTTLED);
      expect(driver.governor.limit).toBeGreaterThanOrEqual(2);
    }
    expect(driver.governor.status(driver.nowMs).effectiveLimit).toBeGreaterThanOrEqual(2);
  });

  test.each(['failed', 'lapsed', 'unknown'] as const)('%s teaches nothing', (kind) => {
    const driver = new Driver({ concurrency: { limit: 5 } });
    driver.rounds(100, 300, { kind, status: 500 });
    expect(driver.governor.limit).toBe(5);
    expect(driver.isOpen()).toBe(true);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({ rpm: null, refusedLastHour: 0 });
    expect(driver.governor.drainChanges()).toEqual([]);
  });

  test('a lowered level recovers with time alone, where no outcome tells anything', () => {
    const driver = new Driver({ concurrency: { limit: 2 }, rate: { kind: 'concurrency' } });
    driver.rounds(3, 100, THROTTLED);
    expect(driver.governor.limit).toBe(1);
    for (let minute = 0; minute < 60; minute += 1) {
      driver.rounds(1, 60_000, { kind: 'unknown' });
    }
    expect(driver.governor.limit).toBeGreaterThan(1);
  });

  test('min above 1 is kept while a scout looks', () => {
    const driver = new Driver({ concurrency: { limit: 4, min: 3 }, rate: { kind: 'rate' } });
    driver.rounds(4, 100, THROTTLED);
    expect(driver.governor.limit).toBeGreaterThanOrEqual(3);
    expect(driver.isOpen()).toBe(false);
  });
});

describe('pause', () => {
  test('retryAfterMs holds all starts, for a few percent longer at most', () => {
    const driver = new Driver({ concurrency: FIXED }, { random: () => 0.999 });
    const start = driver.start();
    driver.end(start, throttled({ retryAfterMs: 10_000 }));
    const opening = driver.governor.opening(T0, 0, 0);
    expect(opening).toMatchObject({ kind: 'shut', reason: 'paused' });
    expect(driver.governor.firmAtMs(T0, 0, 0)).toBe(driver.opensAtMs());
    expect(driver.opensAtMs()).toBeGreaterThanOrEqual(T0 + 10_000);
    expect(driver.opensAtMs()).toBeLessThanOrEqual(T0 + 10_500);
    expect(driver.governor.status(T0).pausedUntil).toBe(driver.opensAtMs());
  });

  test('several hints merge by the latest, never by sum, and never shorten', () => {
    const driver = new Driver({ concurrency: FIXED });
    const starts = driver.fill();
    driver.end(starts[0]!, throttled({ retryAfterMs: 5000 }));
    driver.end(starts[1]!, throttled({ retryAfterMs: 9000 }));
    driver.end(starts[2]!, throttled({ retryAfterMs: 1000 }));
    expect(driver.governor.status(T0).pausedUntil).toBe(T0 + 9000);
  });

  test('a hint among the headers counts like one of its own', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), throttled({ retryAfterMs: 500, reading: { retryAfterMs: 4000 } }));
    expect(driver.governor.status(T0).pausedUntil).toBe(T0 + 4000);
  });

  test('maxPauseMs caps a pause of years', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { maxPauseMs: 60_000 } });
    driver.end(driver.start(), throttled({ retryAfterMs: 1e12 }));
    expect(driver.governor.status(T0).pausedUntil).toBe(T0 + 60_000);
  });

  test.each([0, -5, Number.NaN])('a hint of %s ms is no pause', (retryAfterMs) => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), throttled({ retryAfterMs }));
    expect(driver.governor.status(T0).pausedUntil).toBeNull();
  });

  test('pauses also with learn off', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { learn: false } });
    driver.end(driver.start(), throttled({ retryAfterMs: 2000 }));
    expect(driver.isOpen()).toBe(false);
  });

  test('resuming never bursts: one start, then the pace of before', () => {
    const driver = new Driver({ concurrency: { mode: 'fixed', limit: 50 } });
    for (let count = 0; count < 40; count += 1) {
      const start = driver.start();
      driver.nowMs += 100;
      driver.end(start);
    }
    driver.end(driver.start(), throttled({ retryAfterMs: 3000 }));
    driver.nowMs = driver.opensAtMs();
    expect(driver.fill()).toHaveLength(1);
    driver.nowMs = driver.opensAtMs();
    expect(driver.fill()).toHaveLength(1);
    driver.nowMs += 1000;
    expect(driver.fill().length).toBeLessThanOrEqual(2);
  });
});

describe('scout', () => {
  test('refused alone: one try at a time, with growing waits', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), THROTTLED);
    const waits: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      waits.push(driver.opensAtMs() - driver.nowMs);
      driver.nowMs = driver.opensAtMs();
      const [scout, ...others] = driver.fill();
      expect(others).toEqual([]);
      driver.nowMs += 50;
      driver.end(scout!, THROTTLED);
    }
    expect(waits[0]).toBeGreaterThanOrEqual(500);
    expect(waits.at(-1)).toBeGreaterThan(waits[0]! * 5);
    expect(Math.max(...waits)).toBeLessThanOrEqual(16_000);
  });

  test('a try that is not refused in time lets the others go, though it still runs', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), THROTTLED);
    driver.nowMs = driver.opensAtMs();
    driver.start();
    expect(driver.isOpen()).toBe(false);
    expect(driver.governor.dueAtMs).toBeLessThan(driver.nowMs + 5000);
    driver.nowMs = driver.governor.dueAtMs;
    driver.governor.advance(driver.nowMs);
    driver.nowMs += 2000;
    expect(driver.isOpen()).toBe(true);
  });

  test('a try whose holder vanished does not shut the pool', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), THROTTLED);
    driver.nowMs = driver.opensAtMs();
    driver.end(driver.start(), { kind: 'lapsed' });
    expect(driver.isOpen()).toBe(true);
  });

  test('hours of refusals cost a few tries an hour', () => {
    const driver = new Driver({ concurrency: FIXED });
    let tries = 0;
    const endMs = T0 + 3 * 3_600_000;
    while (driver.nowMs < endMs) {
      driver.nowMs = driver.opensAtMs();
      tries += 1;
      const start = driver.start();
      driver.nowMs += 50;
      driver.end(start, THROTTLED);
    }
    expect(tries).toBeLessThan(70);
  });
});

describe('headers', () => {
  const reading = { limit: 100, remaining: 50, resetMs: 50_000 };

  test('what is left is spread over the rest of the window', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading });
    driver.nowMs += 5000;
    driver.start();
    driver.start();
    expect(driver.opensAtMs()).toBeGreaterThan(driver.nowMs + 800);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({ source: 'header', rpm: 120 });
  });

  test('nothing left holds until the reset, and a little longer', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...OK, reading: { limit: 100, remaining: 0, resetMs: 30_000 } });
    expect(driver.opensAtMs()).toBeGreaterThan(T0 + 30_000);
    expect(driver.opensAtMs()).toBeLessThanOrEqual(T0 + 30_250);
    driver.nowMs = driver.opensAtMs();
    expect(driver.isOpen()).toBe(true);
  });

  test('a reset hours away is a quota: it does not pace, it stops at nothing left', () => {
    const driver = new Driver({ concurrency: FIXED });
    const day = { limit: 1000, remaining: 900, resetMs: 20 * 3_600_000 };
    driver.end(driver.start(), { ...OK, reading: day });
    expect(driver.fill()).toHaveLength(8);
    for (let count = 0; count < 8; count += 1) expect(driver.isOpen()).toBe(true);
    driver.end(driver.start(), { ...OK, reading: { ...day, remaining: 0 } });
    expect(driver.opensAtMs()).toBeGreaterThanOrEqual(T0 + day.resetMs);
    expect(driver.governor.firmAtMs(driver.nowMs, 0, 0)).toBe(driver.opensAtMs());
  });

  test('a refusal by rate while plenty was left ends their trust', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
    driver.end(driver.start(), { ...OK, reading });
    expect(driver.governor.status(T0).trustsHeaders).toBe(true);
    driver.nowMs += 5000;
    driver.end(driver.start(), { ...THROTTLED, reading });
    expect(driver.governor.status(driver.nowMs).trustsHeaders).toBe(false);
    expect(driver.governor.status(driver.nowMs + 600_000).trustsHeaders).toBe(true);
  });

  test('learn off: they are not read', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { learn: false } });
    driver.end(driver.start(), { ...OK, reading: { limit: 100, remaining: 0, resetMs: 30_000 } });
    expect(driver.isOpen()).toBe(true);
  });

  test('token headers gate only starts that carry tokens', () => {
    const driver = new Driver({ concurrency: FIXED });
    const tokens = { tokenLimit: 1000, tokenRemaining: 0, tokenResetMs: 20_000 };
    driver.end(driver.start(10), { ...OK, reading: tokens });
    expect(driver.isOpen(10)).toBe(false);
    expect(driver.isOpen(0)).toBe(true);
  });
});
