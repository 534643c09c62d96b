/**
 * A thousand waiters in front of an operator's rate: no burst, first come first served, and whoever
 * cannot be served in time is told so at once, exactly.
 */
import { describe, expect, it } from 'vitest';
import { Bench } from '../support/bench.ts';
import { settings, T0 } from '../support/pools.ts';

const MINUTE_MS = 60_000;
const WAITERS = 1000;

function gated(rpm: number, burst: number | null = null) {
  const base = settings({ limit: 1000, maxDepth: WAITERS, timeoutMs: 3_600_000 });
  const lease = { termMs: 3_600_000, renewIntervalMs: 1000, requestTimeoutMs: 86_400_000 };
  return new Bench({ ...base, lease, rate: { ...base.rate, rpm, burst } });
}

function startsOf(bench: Bench): number[] {
  return bench.begun.map((lease) => lease.grantedAtMs - T0);
}

/** The most starts in any window of a minute that begins with a start. */
function mostInAMinute(starts: readonly number[]): number {
  return Math.max(
    ...starts.map((first, index) =>
      starts.slice(index).filter((start) => start < first + MINUTE_MS).length
    ),
  );
}

describe('an rpm of 60 before 1000 waiters', () => {
  it.each([[null], [1], [10]])(
    'with burst %s never starts more than 60 a minute, in order',
    (burst) => {
      const bench = gated(60, burst);
      const waiters: unknown[] = [];
      for (let i = 0; i < WAITERS; i++) {
        const admission = bench.acquire({ waitMs: 3_600_000, attempt: String(i) });
        if (admission.kind === 'queued') waiters.push(admission.waiter);
        else expect(admission.kind).toBe('granted');
      }
      bench.pass(20 * MINUTE_MS);
      const starts = startsOf(bench);
      expect(starts).toHaveLength(WAITERS);
      expect(mostInAMinute(starts)).toBeLessThanOrEqual(60);
      expect(bench.begun.map(({ attempt }) => Number(attempt))).toEqual(
        Array.from({ length: WAITERS }, (_, index) => index),
      );
      expect(starts.at(-1)).toBeLessThanOrEqual(17 * MINUTE_MS);
    },
  );

  it('refuses early exactly those whose turn comes after their budget', () => {
    const bench = gated(60);
    const budgetMs = 5 * MINUTE_MS - 1;
    let refused = 0;
    for (let i = 0; i < WAITERS; i++) {
      const admission = bench.acquire({ waitMs: budgetMs, attempt: String(i) });
      if (admission.kind !== 'refused') continue;
      refused++;
      expect(admission.reason).toBe('rate');
      expect(admission.retryAfterMs).toBe(5 * MINUTE_MS);
    }
    expect(refused).toBe(WAITERS - 5 * 60);
    bench.pass(budgetMs);
    expect(startsOf(bench)).toHaveLength(5 * 60);
    expect([...bench.settled.values()].every(({ kind }) => kind === 'granted')).toBe(true);
  });

  it('refuses nobody early whom a raised rate could not be known to miss, and serves them', () => {
    const bench = gated(60);
    for (let i = 0; i < 60; i++) bench.hold();
    const waiter = bench.wait(2 * MINUTE_MS);
    const { settings: now } = bench.pool;
    const raised = { ...now, rate: { ...now.rate, rpm: 120 } };
    bench.bouncer.configure(bench.nowMs, bench.pool, raised);
    expect(bench.fate(waiter)).toBe('granted');
  });

  it('counts a refused acquire as no start', () => {
    const bench = gated(60);
    for (let i = 0; i < 60; i++) bench.hold();
    for (let i = 0; i < 100; i++) expect(bench.acquire().kind).toBe('refused');
    bench.pass(MINUTE_MS);
    for (let i = 0; i < 60; i++) bench.hold();
    expect(bench.acquire().kind).toBe('refused');
  });
});
