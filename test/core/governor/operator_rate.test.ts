import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Driver, settings, T0 } from './fixtures.ts';

const past = (atMs: readonly number[]) => atMs.map((one) => ({ atMs: one, tokens: 0 }));
const WIDE = { mode: 'fixed', limit: 100_000 } as const;

describe('operator rpm', () => {
  test('1000 waiters on 60 a minute: opening tells each the exact instant it will start', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 60 } });
    for (let count = 0; count < 25; count += 1) {
      driver.start();
      driver.nowMs += 40;
    }
    const told = Array.from({ length: 1000 }, (_, ahead) => driver.opensAtMs(ahead));
    const happened: number[] = [];
    for (let count = 0; count < 1000; count += 1) {
      driver.nowMs = driver.opensAtMs();
      happened.push(driver.nowMs);
      driver.start();
    }
    expect(happened).toEqual(told);
    expect(told[0]).toBe(T0 + 1000);
    expect(told[35]).toBe(T0 + 60_000);
    expect(told.at(-1)!).toBeGreaterThan(T0 + 15 * 60_000);
  });

  test('1000 waiters with a burst of 5: exact too, a start a second', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 60, burst: 5 } });
    const told = Array.from({ length: 1000 }, (_, ahead) => driver.opensAtMs(ahead));
    const happened: number[] = [];
    for (let count = 0; count < 1000; count += 1) {
      driver.nowMs = driver.opensAtMs();
      happened.push(driver.nowMs);
      driver.start();
    }
    expect(happened).toEqual(told);
    expect(told.slice(0, 7)).toEqual([0, 0, 0, 0, 0, 1000, 2000].map((ms) => T0 + ms));
    expect(told[60]).toBe(T0 + 60_000);
  });

  test('no refill lets two loads through: 60 at 59 s close the gate until 119 s', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 60 } });
    driver.nowMs = T0 + 59_000;
    for (let count = 0; count < 60; count += 1) driver.start();
    driver.nowMs = T0 + 60_500;
    expect(driver.isOpen()).toBe(false);
    expect(driver.opensAtMs()).toBe(T0 + 119_000);
  });

  test('opening takes nothing: asking a hundred times leaves the rate as it was', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 3 } });
    for (let count = 0; count < 100; count += 1) driver.opensAtMs(count);
    expect(driver.governor.status(T0).rpmRemaining).toBe(3);
  });

  test('restoreStarts counts the starts of the last minute after a restart', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 3 } });
    driver.governor.restoreStarts(T0, past([T0 - 70_000, T0 - 50_000, T0 - 10_000]), true);
    expect(driver.governor.status(T0).rpmRemaining).toBe(1);
    driver.start();
    expect(driver.opensAtMs()).toBe(T0 + 10_000);
  });

  test('restoreStarts counts the window as full where starts left no rows', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 3 } });
    driver.governor.restoreStarts(T0, past([T0 - 50_000]), false);
    expect(driver.governor.status(T0).rpmRemaining).toBe(0);
    expect(driver.opensAtMs()).toBe(T0 + 10_000);
    driver.nowMs = T0 + 10_000;
    driver.start();
    expect(driver.opensAtMs()).toBe(T0 + 60_000);
  });

  test('configure applies another rpm at once and keeps what was started', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { rpm: 10 } });
    for (let count = 0; count < 5; count += 1) driver.start();
    driver.governor.configure(T0, settings({ concurrency: WIDE, rate: { rpm: 5 } }));
    expect(driver.isOpen()).toBe(false);
    driver.governor.configure(T0, settings({ concurrency: WIDE }));
    expect(driver.isOpen()).toBe(true);
  });

  test('any small rpm and burst: what opening tells of the waiters comes true', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.option(fc.integer({ min: 1, max: 50 })),
        fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 40 }),
        (rpm, burst, gaps) => {
          const driver = new Driver({ concurrency: WIDE, rate: { rpm, burst } });
          for (const gapMs of gaps) {
            driver.nowMs += gapMs;
            if (driver.isOpen()) driver.start();
          }
          const told = Array.from({ length: 150 }, (_, ahead) => driver.opensAtMs(ahead));
          for (const atMs of told) {
            expect(driver.opensAtMs()).toBe(atMs);
            driver.nowMs = atMs;
            driver.start();
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('any rpm, burst and traffic: never more than rpm starts in a rolling minute', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.option(fc.integer({ min: 1, max: 50 })),
        fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 30, maxLength: 150 }),
        (rpm, burst, gaps) => {
          const driver = new Driver({ concurrency: WIDE, rate: { rpm, burst } });
          const starts: number[] = [];
          for (const gapMs of gaps) {
            driver.nowMs += gapMs;
            for (let tries = 0; tries < 15 && driver.isOpen(); tries += 1) {
              driver.start();
              starts.push(driver.nowMs);
            }
          }
          for (let index = rpm; index < starts.length; index += 1) {
            expect(starts[index]! - starts[index - rpm]!).toBeGreaterThanOrEqual(60_000);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('operator tpm', () => {
  test('tokens are reserved at the start and settled at the end', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    const first = driver.start(900);
    expect(driver.isOpen(200)).toBe(false);
    expect(driver.isOpen(0)).toBe(true);
    driver.nowMs += 5000;
    driver.end(first, { kind: 'ok', tokens: 300 });
    expect(driver.isOpen(700)).toBe(true);
    expect(driver.isOpen(701)).toBe(false);
  });

  test('a call that was never sent counts for nothing', () => {
    const driver = new Driver({ rate: { rpm: 1, tpm: 100 } });
    driver.end(driver.start(100), { kind: 'unsent' });
    expect(driver.isOpen(100)).toBe(true);
    driver.end(driver.start(100), { kind: 'unknown' });
    expect(driver.isOpen()).toBe(false);
  });

  test('more used than reserved counts as well', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    driver.end(driver.start(100), { kind: 'ok', tokens: 1000 });
    expect(driver.isOpen(1)).toBe(false);
  });

  test('restoreStarts counts what an orderly stop saved, and fills nothing', () => {
    const before = new Driver({ concurrency: WIDE, rate: { rpm: 5 } });
    for (const afterMs of [0, 30_000, 10_000]) {
      before.nowMs += afterMs;
      before.start();
    }
    expect(before.governor.save(before.nowMs)).not.toHaveProperty('starts');
    const saved = JSON.parse(JSON.stringify(before.governor.save(before.nowMs, true)));
    const after = new Driver({ concurrency: WIDE, rate: { rpm: 5 } }, { saved });
    after.nowMs = before.nowMs + 25_000;
    // Of the rows, which lack the proxied starts, nothing counts twice.
    after.governor.restoreStarts(after.nowMs, past([T0 + 30_000]), false);
    expect(after.governor.status(after.nowMs).rpmRemaining).toBe(3);
  });

  test('restoreStarts of absurd counts is over within the minute', () => {
    const rate = { rpm: 5, burst: 2 };
    const saved = { ...new Driver().governor.save(T0), starts: [[T0, 9e15] as const] };
    const after = new Driver({ concurrency: WIDE, rate }, { saved });
    after.governor.restoreStarts(T0, [], false);
    expect(after.opensAtMs()).toBe(T0 + 60_000);
  });

  test('restoreStarts of a stop with nothing started fills nothing either', () => {
    const before = new Driver({ concurrency: WIDE, rate: { rpm: 5, tpm: 100 } });
    const saved = before.governor.save(T0, true);
    expect(saved.starts).toEqual([]);
    const after = new Driver({ concurrency: WIDE, rate: { rpm: 5, tpm: 100 } }, { saved });
    after.governor.restoreStarts(
      T0,
      past([T0 - 1000]).map((row) => ({ ...row, tokens: 40 })),
      false,
    );
    expect(after.governor.status(T0).rpmRemaining).toBe(5);
    expect(after.isOpen(61)).toBe(false);
  });

  test('restoreStarts counts the tokens of the last minute as reserved', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    const starts = [{ atMs: T0 - 70_000, tokens: 900 }, { atMs: T0 - 50_000, tokens: 800 }];
    driver.governor.restoreStarts(T0, starts, true);
    expect(driver.isOpen(200)).toBe(true);
    expect(driver.opensAtMs(0, 201)).toBe(T0 + 10_000);
  });

  test('restoreStarts takes saved tokens as settled, later ones as reserved', () => {
    const before = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    before.end(before.start(), { kind: 'ok', tokens: 500 });
    before.nowMs += 1000;
    const starts = [{ atMs: T0, tokens: 0 }, { atMs: T0 + 4000, tokens: 300 }];
    const saved = JSON.parse(JSON.stringify(before.governor.save(before.nowMs)));
    const after = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } }, { saved });
    after.nowMs = T0 + 5000;
    after.governor.restoreStarts(after.nowMs, starts, true);
    expect(after.isOpen(200)).toBe(true);
    expect(after.opensAtMs(0, 201)).toBe(T0 + 60_000);
  });

  test('a call that outlasted its minute gives back nothing of those after it', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    const long = driver.start(400);
    driver.nowMs += 30_000;
    driver.start(600);
    driver.nowMs += 31_000;
    driver.end(long, { kind: 'ok', tokens: 10 });
    expect(driver.isOpen(400)).toBe(true);
    expect(driver.isOpen(401)).toBe(false);
  });

  test('a wait for tokens is not firm while running calls may give back enough', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    const [first, second] = [driver.start(300), driver.start(700)];
    expect(driver.opensAtMs(0, 10)).toBe(T0 + 60_000);
    expect(driver.governor.firmAtMs(T0, 10, 0)).toBe(T0);
    driver.end(first);
    expect(driver.governor.firmAtMs(T0, 700, 0)).toBe(T0);
    expect(driver.governor.firmAtMs(T0, 701, 0)).toBe(T0 + 60_000);
    driver.end(second, { kind: 'ok', tokens: 650 });
    expect(driver.governor.firmAtMs(T0, 50, 0)).toBe(T0);
    expect(driver.governor.firmAtMs(T0, 51, 0)).toBe(T0 + 60_000);
  });

  test('after a restart tokens of the last minute may be given back: their calls may run', () => {
    const driver = new Driver({ concurrency: WIDE, rate: { tpm: 1000 } });
    driver.governor.restoreStarts(T0, [{ atMs: T0 - 10_000, tokens: 1000 }], true);
    expect(driver.opensAtMs(0, 10)).toBe(T0 + 50_000);
    expect(driver.governor.firmAtMs(T0, 10, 0)).toBe(T0);
  });
});
