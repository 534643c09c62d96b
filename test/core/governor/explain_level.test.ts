/**
 * What the status says of the level, where the slots are what holds back: what was measured, and
 * what the next trial waits for.
 */
import { describe, expect, test } from 'vitest';
import type { Saved } from '../../../src/core/governor/governor.ts';
import { Driver, OK, settings, T0, THROTTLED } from './fixtures.ts';

const statusOf = (driver: Driver) => driver.governor.status(driver.nowMs);

/** Full rounds of proxied calls, whose answers take as long as `ms` says of the level. */
function proxied(driver: Driver, rounds: number, ms: (level: number) => number): Set<string> {
  const reasons = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const starts = driver.fill();
    const firstByteMs = ms(starts.length);
    driver.nowMs += firstByteMs;
    for (const start of starts) {
      driver.end(start, { kind: 'ok', status: 200, firstByteMs });
      reasons.add(statusOf(driver).reason);
    }
  }
  return reasons;
}

describe('answers that become slower', () => {
  test('are not told where all take as long, while the level grows', () => {
    const driver = new Driver({ concurrency: { limit: 4, max: 10 } });
    const reasons = [...proxied(driver, 30, () => 1000)];
    expect(driver.governor.limit).toBe(10);
    expect(reasons).toContain("at the operator's max");
    expect(reasons.filter((reason) => /slower/.test(reason))).toEqual([]);
  });

  test('are told where they were measured', () => {
    const driver = new Driver({ concurrency: { limit: 20, max: 64 } });
    const reasons = proxied(driver, 300, (level) => 200 * Math.max(1, level / 24));
    expect([...reasons]).toContainEqual(
      expect.stringMatching(/^held at 2\d: answers become slower above it$/),
    );
  });
});

describe('the next trial', () => {
  /** Held at 4, for 5 was refused. */
  function refusedAtFive(): Driver {
    const driver = new Driver({ concurrency: { limit: 4 }, rate: { kind: 'concurrency' } });
    driver.rounds(1, 500);
    const starts = driver.fill();
    for (const start of starts.reverse()) driver.end(start, start === starts[0] ? THROTTLED : OK);
    return driver;
  }

  test('waits for its time, and says so', () => {
    const driver = refusedAtFive();
    expect(statusOf(driver)).toMatchObject({
      reason: expect.stringMatching(/^at 4: refused at 5, next trial in 3 s at the earliest/),
      nextChangeAt: driver.nowMs + 3000,
    });
  });

  test('waits for as many calls as it says, though callers wait', () => {
    const driver = refusedAtFive();
    driver.nowMs += 20_000;
    const told = new Set<string>();
    const tell = () => {
      const { reason, nextChangeAt } = statusOf(driver);
      expect(nextChangeAt).toBeNull();
      told.add(reason.replace('at 4: refused at 5, next trial once ', ''));
    };
    tell();
    while (driver.governor.limit === 4) {
      for (const start of driver.fill()) {
        driver.end(start);
        if (driver.governor.limit === 4) tell();
      }
    }
    expect([...told]).toEqual([
      ...[11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((count) => `${count} more calls succeed`),
      'a call succeeds with all 4 in use',
    ]);
  });

  test('waits for nothing but a full round where the level is below what was refused', () => {
    const saved = { ...new Driver().governor.save(T0), level: 20 };
    const driver = new Driver({ concurrency: { limit: 20 } }, { saved });
    expect(statusOf(driver)).toMatchObject({
      reason: 'at 15: 20 was learned before the restart, ' +
        'it grows once a call succeeds with all 15 in use',
      nextChangeAt: null,
    });
    driver.rounds(1, 500);
    expect(driver.governor.limit).toBeGreaterThan(15);
  });

  test("is not told where the operator's max is what holds", () => {
    const driver = refusedAtFive();
    const concurrency = { limit: 3, max: 3 } as const;
    driver.governor.configure(driver.nowMs, settings({ concurrency }));
    expect(statusOf(driver)).toMatchObject({
      source: 'operator',
      reason: "at the operator's max",
      nextChangeAt: null,
    });
  });
});

test('a rate that may grow with the next call tells no instant that is over', () => {
  const saved: Saved = { atMs: T0, level: 4, perSecond: 1, cycleMs: 1000, pausedUntilMs: null };
  const driver = new Driver({}, { saved });
  driver.nowMs += 4000;
  expect(statusOf(driver).nextChangeAt).toBe(T0 + 8000);
  driver.nowMs += 4001;
  expect(statusOf(driver)).toMatchObject({
    reason: 'rate learned: the upstream takes about 60 starts a minute',
    nextChangeAt: null,
  });
});
