/**
 * A waiter whom no gate can let in within its budget is told so at once, with the true time,
 * whichever gates they are and whatever shut them; nobody is refused whom one may still let in.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hopeless } from '../../src/core/admission.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { Outcome, RateReading } from '../../src/core/outcome.ts';
import type { Waiter } from '../../src/core/queue.ts';
import type { RateSettings } from '../../src/core/settings.ts';
import { Bench } from '../support/bench.ts';
import { settings } from '../support/pools.ts';

const HOUR_MS = 3_600_000;
const TOKENS_GONE = { tokenLimit: 1000, tokenRemaining: 0, tokenResetMs: 2 * HOUR_MS };

function gated(rate: Partial<RateSettings> = {}, limit = 3): Bench {
  const base = settings({ limit, maxDepth: 5000, timeoutMs: 3 * HOUR_MS });
  const lease = { termMs: HOUR_MS, renewIntervalMs: 1000, requestTimeoutMs: 3 * HOUR_MS };
  return new Bench({ ...base, lease, rate: { ...base.rate, learn: true, ...rate } });
}

function told(reading: RateReading): Outcome {
  return { kind: 'ok', status: 200, reading };
}

/** A bench on which one call ended so, after which nothing is in use. */
function after(outcome: Outcome, rate: Partial<RateSettings> = {}, tokens = 0): Bench {
  const bench = gated(rate);
  bench.release(bench.hold(1, { tokens }), outcome);
  return bench;
}

function refusedIn(bench: Bench, waiter: Waiter): number | null {
  const settlement = bench.settled.get(waiter);
  return settlement?.kind === 'refused' ? settlement.retryAfterMs : null;
}

describe('a wait that no gate can end in time is refused at once', () => {
  it('by a pause that ends too late, though tokens may be back at any time after it', () => {
    const bench = after({
      kind: 'throttled',
      status: 429,
      retryAfterMs: 60_000,
      reading: { tokenLimit: 40_000, tokenRemaining: 0, tokenResetMs: 90_000, tokenRefills: true },
    });
    const answer = bench.acquire({ waitMs: 4000, tokens: 10 });
    expect(answer).toMatchObject({ kind: 'refused', reason: 'rate' });
    expect(answer).toHaveProperty('retryAfterMs', expect.closeTo(90_150, -3));
  });

  it('also where it came while they waited, and with calls still running', () => {
    const bench = gated({ tpm: 1000 });
    const leases = [bench.hold(1, { tokens: 500 }), bench.hold(1, { tokens: 500 }), bench.hold()];
    const [short, long] = [bench.wait(4000, { tokens: 10 }), bench.wait(100_000, { tokens: 10 })];
    bench.release(leases[2] as Lease, { kind: 'throttled', status: 429, retryAfterMs: 30_000 });
    expect(refusedIn(bench, short)).toBe(60_000);
    expect(bench.fate(long)).toBeNull();
  });

  it('by windows of requests and of tokens, whichever is later', () => {
    const starts = { limit: 10, remaining: 0, resetMs: 2 * HOUR_MS };
    const tokens = { ...TOKENS_GONE, tokenResetMs: 2 * HOUR_MS + 1000 };
    const bench = after(told({ ...starts, ...tokens }));
    const answer = bench.acquire({ waitMs: 4000, tokens: 10 });
    expect(answer).toHaveProperty('retryAfterMs', expect.closeTo(2 * HOUR_MS + 1150, -3));
  });

  it('by a window that leaves less than there are waiters', () => {
    const bench = gated({}, 1);
    const held = bench.hold();
    const [first, ...rest] = [bench.wait(5000), bench.wait(5000), bench.wait(5000)];
    bench.release(held, told({ limit: 100, remaining: 1, resetMs: 2 * HOUR_MS }));
    expect(bench.fate(first as Waiter)).toBe('granted');
    for (const waiter of rest) {
      expect(refusedIn(bench, waiter)).toBeGreaterThanOrEqual(2 * HOUR_MS);
    }
  });

  it.each<[string, Outcome, Partial<RateSettings>]>([
    ['the headers', told(TOKENS_GONE), {}],
    ['a bucket that refills', told({ ...TOKENS_GONE, tokenRefills: true }), {}],
    ['the operator', { kind: 'ok', tokens: 1000 }, { tpm: 1000 }],
  ])('by tokens alone, by %s, where nothing is in use', (_, outcome, rate) => {
    const bench = after(outcome, rate, 1000);
    expect(bench.acquire({ waitMs: 4000, tokens: 10 })).toMatchObject({
      kind: 'refused',
      reason: 'rate',
    });
    expect(bench.acquire({ waitMs: 4000 }).kind).toBe('granted');
  });

  it('by tokens, and the next who needs none goes in its place', () => {
    const bench = gated({}, 1);
    const held = bench.hold();
    const [first, next] = [bench.wait(4000, { tokens: 10 }), bench.wait(4000)];
    bench.release(held, told(TOKENS_GONE));
    expect(refusedIn(bench, first)).toBeGreaterThan(HOUR_MS);
    expect(bench.fate(next)).toBe('granted');
  });

  it('by settled tokens, whatever those that are running give back', () => {
    const bench = gated({ tpm: 1000 });
    bench.release(bench.hold(1, { tokens: 900 }), { kind: 'ok', tokens: 900 });
    bench.hold(1, { tokens: 100 });
    expect(bench.acquire({ waitMs: 4000, tokens: 101 })).toMatchObject({ retryAfterMs: 60_000 });
    expect(bench.acquire({ waitMs: 4000, tokens: 100 }).kind).toBe('queued');
  });

  it('as soon as what was reserved is settled', () => {
    const bench = gated({ tpm: 1000 });
    const held = bench.hold(1, { tokens: 1000 });
    const waiter = bench.wait(4000, { tokens: 10 });
    bench.pass(1000);
    bench.release(held, { kind: 'ok', tokens: 995 });
    expect(refusedIn(bench, waiter)).toBe(59_000);
  });

  it("behind a scout's try that took the last start of the minute", () => {
    const bench = after({ kind: 'throttled', status: 429 }, { rpm: 2 });
    bench.pass(650);
    bench.hold();
    expect(bench.acquire({ waitMs: 4000 })).toMatchObject({ reason: 'rate', retryAfterMs: 59_350 });
  });

  it("once a scout's try was taken, and told that nothing is left", () => {
    const bench = after({ kind: 'throttled', status: 429 });
    bench.pass(650);
    const tried = bench.hold();
    const waiter = bench.wait(4000);
    bench.release(tried, told({ limit: 10, remaining: 0, resetMs: 2 * HOUR_MS }));
    expect(refusedIn(bench, waiter)).toBeGreaterThanOrEqual(2 * HOUR_MS);
  });

  it('by a rate, beside a pause whose end nobody knows', () => {
    const bench = after({ kind: 'ok' }, { rpm: 1 });
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: Infinity, reason: null });
    const wanted = { reason: 'paused', retryAfterMs: 60_000 };
    expect(bench.acquire({ waitMs: 4000 })).toMatchObject(wanted);
    expect(bench.acquire({ waitMs: 60_000 }).kind).toBe('queued');
  });

  it('once whoever stood before it has left, and nothing is in use', () => {
    const bench = after(told({ ...TOKENS_GONE, tokenRefills: true }));
    const first = bench.wait(3 * HOUR_MS, { tokens: 10 });
    const second = bench.wait(4000, { tokens: 10 });
    expect(bench.fate(second)).toBeNull();
    bench.bouncer.withdraw(bench.nowMs, first);
    expect(refusedIn(bench, second)).toBeGreaterThan(HOUR_MS);
  });

  it('of a thousand, within a few ms however much happens', () => {
    const bench = gated({}, 2);
    const held = [bench.hold(), bench.hold()] as const;
    const waiters = Array.from({ length: 1000 }, () => bench.wait(5000));
    bench.release(held[0], told({ limit: 9000, remaining: 8000, resetMs: HOUR_MS }));
    bench.release(held[1], told({ limit: 9000, remaining: 0, resetMs: HOUR_MS }));
    bench.pass(5);
    const fates = waiters.map((waiter) => bench.fate(waiter));
    expect(fates.filter((fate) => fate === 'refused').length).toBeGreaterThanOrEqual(998);
    expect(fates).not.toContain(null);
  });
});

describe('nobody is refused whom a gate may still let in', () => {
  it('by tokens that a running call gives back', () => {
    const bench = gated({ tpm: 1000 });
    const held = bench.hold(1, { tokens: 1000 });
    const waiter = bench.wait(4000, { tokens: 990 });
    bench.pass(3000);
    bench.release(held, { kind: 'ok', tokens: 10 });
    expect(bench.fate(waiter)).toBe('granted');
  });

  it("by the answer to a scout's try", () => {
    const bench = after({ kind: 'throttled', status: 429 });
    bench.pass(650);
    const tried = bench.hold();
    const waiter = bench.wait(60);
    bench.pass(10);
    bench.release(tried, { kind: 'failed' });
    expect(bench.fate(waiter)).toBe('granted');
  });

  it.each<[string, RateReading, RateReading]>([
    [
      'tokens',
      { ...TOKENS_GONE, tokenRefills: true },
      { ...TOKENS_GONE, tokenRemaining: 500, tokenRefills: true },
    ],
    [
      'requests',
      { limit: 50, remaining: 0, resetMs: HOUR_MS, refills: true },
      { limit: 50, remaining: 3, resetMs: HOUR_MS - 60_000, refills: true },
    ],
  ])('by an answer that tells of a bucket of %s that refilled', (_, gone, more) => {
    const bench = gated();
    const [first, second] = [bench.hold(), bench.hold()];
    bench.release(first, told(gone));
    const waiter = bench.wait(4000, { tokens: 10 });
    bench.pass(2000);
    bench.release(second, told(more));
    expect(bench.fate(waiter)).toBe('granted');
  });
});

const reading: fc.Arbitrary<RateReading> = fc.record({
  limit: fc.constant(10),
  remaining: fc.nat(10),
  resetMs: fc.nat(20_000),
  refills: fc.constant(true as const),
  tokenLimit: fc.constant(100),
  tokenRemaining: fc.nat(100),
  tokenResetMs: fc.nat(20_000),
  tokenRefills: fc.constant(true as const),
}, { requiredKeys: [] });

const outcome: fc.Arbitrary<Outcome> = fc.record({
  kind: fc.constantFrom<Outcome['kind'][]>('ok', 'ok', 'ok', 'throttled', 'failed', 'lapsed'),
  retryAfterMs: fc.nat(5000),
  reading,
  tokens: fc.nat(60),
}, { requiredKeys: ['kind'] });

const step = fc.oneof(
  fc.record({ waitMs: fc.nat(10_000), tokens: fc.constantFrom(0, 0, 5, 40) }),
  fc.record({ passMs: fc.nat(4000) }),
  fc.record({ end: fc.nat(5), outcome }),
);

describe('after any end of work', () => {
  it('nobody waits who is sure not to be let in', () => {
    const rates = fc.record({
      rpm: fc.constantFrom(null, 4, 30),
      tpm: fc.constantFrom(null, 100),
      burst: fc.constantFrom(null, 2),
    });
    fc.assert(
      fc.property(rates, fc.array(step, { maxLength: 60 }), (rate, steps) => {
        const bench = gated(rate);
        for (const each of steps) {
          if ('waitMs' in each) bench.acquire(each);
          else if ('passMs' in each) bench.pass(each.passMs);
          else {
            const leases = [...bench.pool.leases.values()];
            const lease = leases[each.end % Math.max(1, leases.length)];
            if (lease === undefined) continue;
            bench.release(lease, each.outcome);
            expect(hopelessOf(bench)).toEqual([]);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  function hopelessOf({ pool, nowMs }: Bench): Waiter[] {
    return [...pool.queue].filter(({ ask: { tokens }, dueAtMs: untilMs }, ahead) => {
      const opening = pool.opening(nowMs, tokens, ahead);
      return hopeless(pool, opening, { nowMs, tokens, ahead, untilMs }) !== null;
    });
  }
});
