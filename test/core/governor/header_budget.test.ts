/** The budget of the binding window: when it stops, when it paces, and what it never believes. */
import { describe, expect, test } from 'vitest';
import type { RateReading } from '../../../src/core/outcome.ts';
import { readRates } from '../../../src/upstream/reader.ts';
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

describe('a limit of 0', () => {
  test('shuts nobody out for good, whatever is told to be left', () => {
    const reading = { limit: 0, remaining: 9, resetMs: 0 };
    const driver = told(reading);
    for (let call = 0; call < 20; call += 1) {
      driver.nowMs += 1000;
      expect(driver.isOpen()).toBe(true);
      driver.end(driver.start(), { ...OK, reading });
    }
  });

  test('with nothing left stops until the reset, and no longer', () => {
    const driver = told({ limit: 0, remaining: 0, resetMs: 20_000 });
    expect(waitMs(driver, 0)).toBeGreaterThan(20_000);
    expect(waitMs(driver, 0)).toBeLessThanOrEqual(20_250);
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

/** An upstream that counts in windows of fixed length, and tells of each call what is left. */
class Upstream {
  #used = 0;
  #untilMs = T0;

  constructor(readonly limit: number, readonly windowMs: number, readonly scope?: string) {}

  /** What it says of a call at `nowMs`; its windows follow each other from {@link T0} on. */
  answer(nowMs: number): RateReading {
    if (nowMs >= this.#untilMs) {
      this.#used = 0;
      this.#untilMs += this.windowMs * (Math.floor((nowMs - this.#untilMs) / this.windowMs) + 1);
    }
    this.#used += 1;
    const { limit, scope } = this;
    const left = { limit, remaining: limit - this.#used, resetMs: this.#untilMs - nowMs };
    return scope === undefined ? left : { ...left, scope };
  }
}

/** One call that is answered at once. */
function call(driver: Driver, reading: RateReading): void {
  driver.end(driver.start(), { ...OK, reading });
}

const rpmOf = ({ governor, nowMs }: Driver) => governor.status(nowMs).rpm;

describe('the length of a window', () => {
  test('is that of the windows told now, after one reset that was far off', () => {
    for (const oddAt of [0, 1, 5, 12, 25]) {
      const upstream = new Upstream(10, 2000);
      const driver = new Driver({ concurrency: FIXED });
      for (let count = 0; count < 40; count += 1) {
        driver.nowMs += 100;
        const reading = upstream.answer(driver.nowMs);
        call(driver, count === oddAt ? { ...reading, resetMs: 3_000_000 } : reading);
      }
      for (let window = 0; window < 3; window += 1) {
        driver.nowMs += 2000;
        for (let ahead = 0; ahead < 10; ahead += 1) {
          expect(waitMs(driver, ahead)).toBeLessThanOrEqual(4000);
        }
        call(driver, upstream.answer(driver.nowMs));
      }
      expect(rpmOf(driver)).toBeGreaterThan(280);
      expect(rpmOf(driver)).toBeLessThan(320);
    }
  });

  test('is not taken for the rest of it that a late call is told', () => {
    const upstream = new Upstream(60, 60_000);
    const driver = new Driver({ concurrency: FIXED });
    driver.nowMs += 40_000;
    call(driver, upstream.answer(driver.nowMs));
    driver.nowMs += 21_000;
    call(driver, upstream.answer(driver.nowMs));
    for (let count = 0; count < 3; count += 1) {
      driver.nowMs += 240_000 - 1000;
      call(driver, upstream.answer(driver.nowMs - 10_000));
      expect(rpmOf(driver)).toBeGreaterThan(58);
      expect(rpmOf(driver)).toBeLessThan(64);
    }
  });

  test('of one resource is not taken for that of another', () => {
    const core = new Upstream(5000, 3_000_000, 'core');
    const search = new Upstream(30, 60_000, 'search');
    const driver = new Driver({ concurrency: FIXED });
    call(driver, core.answer(driver.nowMs));
    for (let window = 0; window < 3; window += 1) {
      call(driver, search.answer(driver.nowMs));
      driver.nowMs += 61_000;
      for (let ahead = 0; ahead < 10; ahead += 1) {
        expect(waitMs(driver, ahead)).toBeLessThanOrEqual(20_000);
      }
      driver.start();
      expect(waitMs(driver, 8)).toBeLessThanOrEqual(20_000);
    }
  });

  test('of two hosts that tell theirs in turn is one of each: their rate is told once', () => {
    const [slow, fast] = [new Upstream(10, 60_000), new Upstream(60, 15_000)];
    const driver = new Driver({ concurrency: FIXED });
    call(driver, fast.answer(driver.nowMs));
    for (let count = 0; count < 200; count += 1) {
      driver.nowMs += 500;
      const host = count % 20 === 0 ? slow : fast;
      call(driver, host.answer(driver.nowMs));
    }
    const changes = driver.governor.drainChanges().filter(({ what }) => what === 'rpm');
    expect(changes.map(({ to }) => to)).toEqual([240]);
    expect(rpmOf(driver)).toBe(240);
    for (let count = 0; count < 3; count += 1) {
      driver.nowMs += 60_000;
      call(driver, slow.answer(driver.nowMs));
    }
    expect(rpmOf(driver)).toBeCloseTo(10, 0);
  });

  test('of a limit that the upstream lowered or raised is told of the new one alone soon', () => {
    for (const [before, after] of [[60, 20], [20, 60]] as const) {
      const driver = new Driver({ concurrency: FIXED });
      for (const limit of [before, before, before, after, after, after, after]) {
        call(driver, { limit, remaining: limit - 10, resetMs: 3000 });
        driver.nowMs += 3100;
      }
      expect(rpmOf(driver)).toBe(after * 20);
    }
  });

  test('of another name is told for a minute, however short it is', () => {
    const driver = new Driver({ concurrency: FIXED });
    call(driver, { limit: 60, remaining: 50, resetMs: 3000, scope: 'search' });
    for (let nowMs = 0; nowMs < 60_000; nowMs += 3000) {
      call(driver, { limit: 20, remaining: 15, resetMs: 3000, scope: 'core' });
      expect(rpmOf(driver)).toBe(1200);
      driver.nowMs += 3000;
    }
    expect(rpmOf(driver)).toBe(400);
  });

  test('stays where its limit changes before its end', () => {
    const driver = told({ limit: 60, remaining: 59, resetMs: 60_000 });
    driver.nowMs += 50_000;
    call(driver, { limit: 90, remaining: 80, resetMs: 10_000 });
    expect(rpmOf(driver)).toBe(90);
  });

  test('is not shortened by a report of the window before', () => {
    const driver = told({ limit: 60, remaining: 1, resetMs: 60_000 });
    driver.nowMs += 60_000;
    const late = driver.start();
    call(driver, { limit: 60, remaining: 58, resetMs: 60_000 });
    driver.nowMs += 3000;
    driver.end(late, { ...OK, reading: { limit: 60, remaining: 0, resetMs: 1000 } });
    expect(driver.isOpen()).toBe(true);
    expect(rpmOf(driver)).toBe(60);
  });
});

describe('a bucket that fills bit by bit', () => {
  const bucket = (used: number) =>
    readRates({
      'x-ratelimit-limit-requests': '500',
      'x-ratelimit-remaining-requests': `${500 - used}`,
      'x-ratelimit-reset-requests': `${used * 120}ms`,
      'x-ratelimit-limit-tokens': '30000',
      'x-ratelimit-remaining-tokens': `${30_000 - used * 120}`,
      'x-ratelimit-reset-tokens': `${used * 240}ms`,
    }, { nowMs: T0 });

  test('is not taken for a window as long as it takes to be full again', () => {
    const driver = new Driver({ concurrency: FIXED });
    for (const used of [1, 1, 2, 1, 40, 39, 1]) {
      driver.nowMs += 2000;
      call(driver, bucket(used));
      const { rpm, tpm, trustsHeaders } = driver.governor.status(driver.nowMs);
      expect([rpm, tpm, trustsHeaders]).toEqual([null, null, true]);
    }
    expect(driver.governor.requestRate(driver.nowMs)).toBeNull();
    expect(driver.governor.drainChanges()).toEqual([]);
  });

  test('is none after a restart either, and still paces and stops', () => {
    const driver = told(bucket(450));
    driver.start();
    driver.start();
    expect(waitMs(driver, 0)).toBeGreaterThan(500);
    const saved = JSON.parse(JSON.stringify(driver.governor.save(T0)));
    const next = new Driver({ concurrency: FIXED }, { saved });
    expect(rpmOf(next)).toBeNull();
    expect(next.governor.status(T0).rpmRemaining).toBe(48);
    call(next, bucket(500));
    expect(waitMs(next, 0)).toBeGreaterThanOrEqual(60_000);
  });

  test('is a window of the length that its vendor states', () => {
    const reading = readRates({
      'x-ratelimit-limit-requests-minute': '30',
      'x-ratelimit-remaining-requests-minute': '29',
      'x-ratelimit-reset-requests-minute': '2.5',
    }, { nowMs: T0 });
    expect(rpmOf(told(reading))).toBe(30);
  });

  test('of one vendor: an instant, rounded to seconds, tells none', () => {
    const reading = readRates({
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '49',
      'anthropic-ratelimit-requests-reset': new Date(T0 + 2000).toISOString(),
      'anthropic-ratelimit-output-tokens-limit': '8000',
      'anthropic-ratelimit-output-tokens-remaining': '7000',
      'anthropic-ratelimit-output-tokens-reset': new Date(T0 + 8000).toISOString(),
    }, { nowMs: T0 });
    const { rpm, tpm } = told(reading).governor.status(T0);
    expect([rpm, tpm]).toEqual([null, null]);
  });
});
