/**
 * The changes that a governor tells: every one, with its reason, and none twice.
 */
import { describe, expect, test } from 'vitest';
import { CHANGES_KEPT } from '../../../src/core/governor/governor.ts';
import { Pool } from '../../../src/core/pool.ts';
import { settings as poolSettings } from '../../support/pools.ts';
import { Driver, OK, settings, T0, THROTTLED } from './fixtures.ts';

describe('changes between two drains', () => {
  test('are all told: 200 refusals of one flight lose none', () => {
    const driver = new Driver({
      concurrency: { limit: 200, max: 200 },
      rate: { kind: 'concurrency' },
    });
    const starts = driver.fill();
    driver.nowMs += 100;
    for (const start of starts) driver.end(start, THROTTLED);
    const limits = driver.governor.drainChanges().filter(({ what }) => what === 'limit');
    expect(limits[0]?.from).toBe(200);
    expect(limits.at(-1)?.to).toBe(driver.governor.limit);
    limits.slice(1).forEach(({ from }, index) => expect(from).toBe(limits[index]?.to));
  });

  test('are bounded by what is kept of a pool, and the oldest go', () => {
    const driver = new Driver({ concurrency: { mode: 'fixed', limit: 1 } });
    for (let limit = 2; limit <= CHANGES_KEPT + 11; limit += 1) {
      driver.governor.configure(T0, settings({ concurrency: { mode: 'fixed', limit } }));
    }
    const changes = driver.governor.drainChanges();
    expect(changes.length).toBe(CHANGES_KEPT);
    expect(changes[0]).toMatchObject({ from: 11, to: 12 });
    expect(driver.governor.drainChanges()).toEqual([]);
  });
});

/** What was changed since the last look, as what, from and to, with the reason. */
function toldBy({ governor }: Driver) {
  return governor.drainChanges().map(({ what, from, to, why }) => [what, from, to, why]);
}

const FIXED = { mode: 'fixed', limit: 8 } as const;
const MINUTE = { resetMs: 60_000, windowMs: 60_000 };
const SAY_SO = "the upstream's headers say so";

describe('what is told', () => {
  test("the operator's rates", () => {
    const driver = new Driver({ concurrency: FIXED });
    const why = 'the operator changed the settings';
    driver.governor.configure(T0, settings({ concurrency: FIXED, rate: { rpm: 60, tpm: 900 } }));
    expect(toldBy(driver)).toEqual([['rpm', null, 60, why], ['tpm', null, 900, why]]);
    driver.governor.configure(T0, settings({ concurrency: FIXED, rate: { rpm: 30 } }));
    expect(toldBy(driver)).toEqual([['rpm', 60, 30, why], ['tpm', 900, null, why]]);
  });

  test('the rate of headers, once, until it is a tenth off', () => {
    const driver = new Driver({ concurrency: FIXED });
    const say = (limit: number) =>
      driver.end(driver.start(), { ...OK, reading: { limit, remaining: 50, ...MINUTE } });
    say(60);
    expect(toldBy(driver)).toEqual([['rpm', null, 60, SAY_SO]]);
    for (let limit = 55; limit <= 65; limit += 1) say(limit);
    expect(toldBy(driver)).toEqual([]);
    say(66);
    expect(toldBy(driver)).toEqual([['rpm', 60, 66, SAY_SO]]);
  });

  test('tokens a minute by headers', () => {
    const driver = new Driver({ concurrency: FIXED });
    const reading = { tokenLimit: 9000, tokenRemaining: 8000, tokenResetMs: 60_000 };
    driver.end(driver.start(), { ...OK, reading });
    expect(toldBy(driver)).toEqual([['tpm', null, 9000, SAY_SO]]);
  });

  test('headers that leave nothing, once a window, and not for moments', () => {
    const driver = new Driver({ concurrency: FIXED });
    const starts = driver.fill();
    const say = (resetMs: number) =>
      driver.end(starts.pop()!, { ...OK, reading: { limit: 60, remaining: 0, resetMs, windowMs } });
    const windowMs = 60_000;
    say(4000);
    driver.nowMs += 5000;
    expect(toldBy(driver)).toEqual([['rpm', null, 60, SAY_SO]]);
    say(50_000);
    const shut = driver.opensAtMs() - driver.nowMs;
    expect(toldBy(driver)).toEqual([['pause', 0, shut, "the upstream's headers leave nothing"]]);
    for (let count = 1; count <= 5; count += 1) {
      driver.nowMs += 9000;
      say(50_000 - count * 9000 + 1000);
    }
    expect(toldBy(driver)).toEqual([]);
  });

  test('headers that leave some again before the time that they told', () => {
    const driver = new Driver({ concurrency: FIXED });
    const [first, second] = [driver.start(), driver.start()];
    const window = { limit: 60, windowMs: 60_000 };
    driver.end(first, { ...OK, reading: { ...window, remaining: 0, resetMs: 50_000 } });
    toldBy(driver);
    driver.nowMs += 20_000;
    driver.end(second, { ...OK, reading: { ...window, remaining: 50, resetMs: 20_000 } });
    const [what, , to, why] = toldBy(driver).find(([changed]) => changed === 'pause') ?? [];
    expect([what, to, why]).toEqual(['pause', 0, "the upstream's headers leave some again"]);
  });

  test('that headers of before a restart still shut the pool', () => {
    const first = new Driver({ concurrency: FIXED });
    const reading = { limit: 60, remaining: 0, resetMs: 3_000_000, windowMs: 3_600_000 };
    first.end(first.start(), { ...OK, reading });
    const next = new Driver({ concurrency: FIXED }, { saved: first.governor.save(T0) });
    expect(next.isOpen()).toBe(false);
    expect(toldBy(next)).toContainEqual([
      'pause',
      0,
      expect.any(Number),
      "the upstream's headers leave nothing",
    ]);
  });

  test('one call at a time: when it begins, and when it is over', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), THROTTLED);
    const begun = toldBy(driver);
    expect(begun).toEqual([['pause', 0, null, expect.stringMatching(/^refused, /)]]);
    driver.nowMs = driver.opensAtMs();
    driver.end(driver.start(), THROTTLED);
    expect(toldBy(driver)).toEqual([]);
    driver.nowMs = driver.opensAtMs();
    driver.end(driver.start());
    expect(toldBy(driver)).toContainEqual(['pause', null, 0, 'the upstream takes calls again']);
  });

  test('a pause that the upstream asked for, and that it takes calls again after it', () => {
    const driver = new Driver({ concurrency: FIXED });
    driver.end(driver.start(), { ...THROTTLED, retryAfterMs: 9000 });
    expect(toldBy(driver)).toEqual([['pause', 0, 9000, 'the upstream asked to hold back']]);
    driver.nowMs = driver.opensAtMs();
    driver.end(driver.start());
    expect(toldBy(driver)).toContainEqual(['pause', null, 0, 'the upstream takes calls again']);
  });

  test('that a restart begins below what was learned', () => {
    const saved = { ...new Driver().governor.save(T0), level: 8 };
    const next = new Driver({ concurrency: { limit: 8 } }, { saved });
    expect(toldBy(next)).toEqual([
      ['limit', 8, next.governor.limit, 'the server started again'],
    ]);
    expect(next.governor.limit).toBeLessThan(8);
    const fixed = new Driver({ concurrency: FIXED }, { saved });
    expect(toldBy(fixed)).toEqual([]);
  });
});

test('a restart that goes back from a rate on trial to the proven one says so', () => {
  const saved = { ...new Driver().governor.save(T0), perSecond: 10, trialPerSecond: 11 };
  const next = new Driver({ concurrency: FIXED }, { saved });
  expect(toldBy(next)).toEqual([['rpm', 660, 600, 'the server started again']]);
  expect(next.governor.status(T0).rpm).toBe(600);
});

test('a rate on trial is saved beside the proven one', () => {
  const saved = { ...new Driver().governor.save(T0), perSecond: 10, cycleMs: 1000 };
  const driver = new Driver({ concurrency: FIXED }, { saved });
  expect(driver.governor.save(T0)).not.toHaveProperty('trialPerSecond');
  for (let count = 0; count < 400 && driver.governor.status(driver.nowMs).rpm === 600; count += 1) {
    driver.nowMs = driver.opensAtMs();
    driver.end(driver.start());
  }
  const { perSecond, trialPerSecond = 0 } = driver.governor.save(driver.nowMs);
  expect(perSecond).toBe(10);
  expect(trialPerSecond).toBeGreaterThan(10);
  expect(driver.governor.status(driver.nowMs).rpm).toBe(Math.round(trialPerSecond * 60));
});

describe("an operator's pause", () => {
  const paused = (untilMs: number, reason: string | null = null) => ({ untilMs, reason });

  test('is told, with how long and why, and so is its end', () => {
    const { governor } = new Driver({ concurrency: FIXED });
    const pool = new Pool('a', poolSettings({ limit: 8 }), governor);
    const told = () => governor.drainChanges().map(({ from, to, why }) => [from, to, why]);
    pool.setPause(T0, paused(T0 + 5000, 'backup'));
    pool.setPause(T0 + 1000, paused(Infinity));
    pool.setPause(T0 + 2000, null);
    expect(told()).toEqual([
      [0, 5000, 'paused by the operator: backup'],
      [4000, null, 'paused by the operator'],
      [null, 0, 'resumed by the operator'],
    ]);
    pool.setPause(T0 + 2000, null);
    expect(told()).toEqual([]);
  });
});
