/**
 * The governor as its host uses it: settings, what it saves, its changes and its status.
 */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/core/outcome.ts';
import { Driver, OK, settings, T0, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 8 } as const;

function throttled(more: Partial<Outcome>): Outcome {
  return { ...THROTTLED, ...more };
}

describe('settings', () => {
  test('kind concurrency: refusals lower the level, never the rate', () => {
    const driver = new Driver({ concurrency: { limit: 8 }, rate: { kind: 'concurrency' } });
    driver.rounds(10, 100, THROTTLED);
    expect(driver.governor.limit).toBe(1);
    expect(driver.governor.status(driver.nowMs).rpm).toBeNull();
    expect(driver.isOpen()).toBe(true);
  });

  test('kind rate: refusals never lower the level', () => {
    const driver = new Driver({ concurrency: { limit: 8 }, rate: { kind: 'rate' } });
    for (let count = 0; count < 30; count += 1) {
      driver.nowMs = driver.opensAtMs();
      const start = driver.start();
      driver.nowMs += 50;
      driver.end(start, count % 3 === 0 ? THROTTLED : OK);
    }
    expect(driver.governor.limit).toBeGreaterThanOrEqual(8);
  });

  test('configure applies new bounds at once and keeps what was learned within them', () => {
    const driver = new Driver({ concurrency: { limit: 4, max: 64 } });
    driver.rounds(8, 300);
    expect(driver.governor.limit).toBeGreaterThan(10);
    driver.governor.configure(driver.nowMs, settings({ concurrency: { limit: 4, max: 10 } }));
    expect(driver.governor.limit).toBe(10);
  });

  test('configure: a new limit is where the level starts until calls told something of it', () => {
    const driver = new Driver({ concurrency: { limit: 4 } });
    driver.governor.configure(T0, settings({ concurrency: { limit: 6 } }));
    expect(driver.governor.limit).toBe(6);
    driver.rounds(1, 300);
    expect(driver.governor.limit).toBe(7);
    driver.governor.configure(driver.nowMs, settings({ concurrency: { limit: 3 } }));
    expect(driver.governor.limit).toBe(7);
  });

  test('configure: switched to adaptive, the level starts at the limit', () => {
    const driver = new Driver({ concurrency: { mode: 'fixed', limit: 3 } });
    driver.governor.configure(T0, settings({ concurrency: { limit: 7 } }));
    expect(driver.governor.limit).toBe(7);
    driver.governor.configure(T0, settings({ concurrency: { mode: 'fixed', limit: 3 } }));
    expect(driver.governor.limit).toBe(3);
  });

  test('configure: learn switched off drops what was learned of rates', () => {
    const saved = { atMs: T0, level: 4, perSecond: 2, cycleMs: 0, pausedUntilMs: null };
    const driver = new Driver({ concurrency: FIXED }, { saved });
    expect(driver.governor.status(T0).rpm).toBe(120);
    driver.governor.configure(T0, settings({ concurrency: FIXED, rate: { learn: false } }));
    expect(driver.governor.status(T0).rpm).toBeNull();
  });

  test('a pause lasts no longer after a restart than before, whatever the wall clock did', () => {
    const leftMs = (atMs: number, pausedMs: number) => {
      const pausedUntilMs = atMs + pausedMs;
      const saved = { atMs, level: null, perSecond: null, cycleMs: 0, pausedUntilMs };
      const { governor } = new Driver({}, { saved });
      return (governor.status(T0).pausedUntil ?? T0) - T0;
    };
    expect([leftMs(T0 - 1000, 5000), leftMs(T0, 5000), leftMs(T0 - 5000, 5000)])
      .toEqual([4000, 5000, 0]);
    expect(leftMs(T0 + 3_600_000, 5000)).toBe(5000);
  });

  test('forget drops what was learned, pauses too, and leaves the operator rates counting', () => {
    const driver = new Driver({ concurrency: { limit: 4 }, rate: { rpm: 100 } });
    driver.rounds(6, 300);
    driver.end(driver.start(), throttled({ retryAfterMs: 60_000 }));
    const before = driver.governor.status(driver.nowMs).rpmRemaining;
    driver.governor.forget(driver.nowMs);
    expect(driver.governor.limit).toBe(4);
    expect(driver.isOpen()).toBe(true);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({
      pausedUntil: null,
      rpmRemaining: before,
      refusedLastHour: 1,
    });
  });
});

describe('save', () => {
  test('seeds the next start lower than it was, and under its old level plus one', () => {
    const first = new Driver({ concurrency: { limit: 4 } });
    first.rounds(8, 300);
    const saved = JSON.parse(JSON.stringify(first.governor.save(first.nowMs)));
    const next = new Driver({ concurrency: { limit: 4 } }, { saved });
    expect(next.governor.limit).toBe(Math.floor(first.governor.limit * 0.75));
    expect(next.governor.status(T0).ceiling).toBe(first.governor.limit + 1);
  });

  test('of a run without a call is what it began from, so that restarts lower nothing', () => {
    const saved = { atMs: T0, level: 8, perSecond: null, cycleMs: 0, pausedUntilMs: null };
    const idle = new Driver({ concurrency: { limit: 4 } }, { saved });
    expect(idle.governor.status(T0).reason).toContain('at 6: 8 was learned before the restart');
    idle.governor.configure(T0, settings({ concurrency: { limit: 5 } }));
    expect(idle.governor.save(T0).level).toBe(8);
    const rate = { kind: 'concurrency' } as const;
    const refused = new Driver({ concurrency: { limit: 4 }, rate }, { saved });
    refused.end(refused.start(), throttled({}));
    expect(refused.governor.save(T0).level).toBeLessThan(6);
  });

  test('of a level that no call told anything of is none: each run starts at the limit', () => {
    let driver = new Driver({ concurrency: { limit: 20 } });
    for (let run = 0; run < 3; run += 1) {
      // Calls that never fill the level say nothing of it.
      for (let call = 0; call < 5; call += 1) driver.end(driver.start());
      const saved = JSON.parse(JSON.stringify(driver.governor.save(driver.nowMs)));
      expect(saved.level).toBeNull();
      driver = new Driver({ concurrency: { limit: 20 } }, { saved });
      expect(driver.governor.limit).toBe(20);
      expect(driver.governor.drainChanges()).toEqual([]);
    }
  });

  test('after forget is of nothing: the next run starts at the limit', () => {
    const driver = new Driver({ concurrency: { limit: 8 }, rate: { kind: 'concurrency' } });
    driver.end(driver.start(), THROTTLED);
    expect(driver.governor.save(T0).level).toBeLessThan(8);
    driver.governor.forget(T0);
    const saved = driver.governor.save(T0);
    expect(saved.level).toBeNull();
    expect(new Driver({ concurrency: { limit: 8 } }, { saved }).governor.limit).toBe(8);
  });

  test('is not believed after a day', () => {
    const saved = {
      atMs: T0 - 90_000_000,
      level: 40,
      perSecond: 1,
      cycleMs: 0,
      pausedUntilMs: null,
    };
    const driver = new Driver({ concurrency: { limit: 4 } }, { saved });
    expect(driver.governor.limit).toBe(4);
    expect(driver.governor.status(T0).rpm).toBeNull();
  });

  test('keeps a pause and a learned rate over a restart', () => {
    const saved = {
      atMs: T0 - 1000,
      level: 8,
      perSecond: 2,
      cycleMs: 60_000,
      pausedUntilMs: T0 + 5000,
    };
    const driver = new Driver({ concurrency: { limit: 4 } }, { saved });
    expect(driver.governor.status(T0)).toMatchObject({ rpm: 120, pausedUntil: T0 + 5000 });
    expect(driver.opensAtMs()).toBe(T0 + 5000);
  });
});

describe('changes', () => {
  test('each change tells old, new, why and the evidence, once', () => {
    const driver = new Driver({ concurrency: { limit: 4 } });
    driver.rounds(1, 500);
    const grown = driver.governor.drainChanges();
    expect(grown).toMatchObject([{ what: 'limit', from: 4, to: 5, atMs: driver.nowMs }]);
    expect(driver.governor.drainChanges()).toEqual([]);
    const starts = driver.fill();
    driver.end(starts[4]!, throttled({ retryAfterMs: 1000 }));
    const cut = driver.governor.drainChanges();
    expect(cut.map(({ what, from, to }) => [what, from, to])).toEqual([
      ['limit', 5, 4],
      ['pause', 0, 1000],
    ]);
    expect(cut[0]!.why).toContain('refused');
    expect(cut[0]!.evidence).toContain('5 in flight');
  });
});

describe('status', () => {
  test('says in words why it holds back, and when it looks again', () => {
    const driver = new Driver({ concurrency: { limit: 4 } });
    expect(driver.governor.status(T0).reason).toContain('free to grow');
    driver.rounds(1, 500);
    const starts = driver.fill();
    driver.end(starts[4]!, THROTTLED);
    const status = driver.governor.status(driver.nowMs);
    expect(status).toMatchObject({ source: 'learned', since: driver.nowMs, refusedLastHour: 1 });
    expect(status.reason).toMatch(
      /refused at 5, next trial in \d+ s at the earliest, once 15 more/,
    );
    expect(status.nextChangeAt).toBeGreaterThan(driver.nowMs);
    const due = driver.governor.status(status.nextChangeAt ?? 0);
    expect(due.reason).toMatch(/refused at 5, next trial once 15 more calls succeed$/);
    expect(due.nextChangeAt).toBeNull();
  });
});
