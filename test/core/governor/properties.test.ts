import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GovernorSettings, Start } from '../../../src/core/governor/governor.ts';
import { makeGovernor } from '../../../src/core/governor/governors.ts';
import type { Outcome, OutcomeKind, RateReading } from '../../../src/core/outcome.ts';
import { Driver, settings, T0 } from './fixtures.ts';

const numbers = fc.integer({ min: 0, max: 100_000 });
const reading: fc.Arbitrary<RateReading> = fc.record({
  limit: fc.integer({ min: 1, max: 10_000 }),
  remaining: numbers,
  resetMs: fc.integer({ min: 0, max: 90_000_000 }),
  tokenLimit: fc.integer({ min: 1, max: 10_000 }),
  tokenRemaining: numbers,
  tokenResetMs: numbers,
  scope: fc.constantFrom('concurrent', 'requests', ''),
}, { requiredKeys: [] });

const outcome: fc.Arbitrary<Outcome> = fc.record({
  kind: fc.constantFrom<OutcomeKind[]>('ok', 'ok', 'throttled', 'failed', 'lapsed', 'unknown'),
  reading,
  retryAfterMs: fc.integer({ min: 0, max: 10_000_000 }),
  tokens: numbers,
  firstByteMs: fc.integer({ min: 1, max: 60_000 }),
}, { requiredKeys: ['kind'] });

const step = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100_000 })),
  starts: fc.integer({ min: 0, max: 12 }),
  ends: fc.array(outcome, { maxLength: 12 }),
});

const world = fc.record({
  mode: fc.constantFrom<GovernorSettings['concurrency']['mode'][]>('fixed', 'adaptive'),
  min: fc.integer({ min: 1, max: 4 }),
  limit: fc.integer({ min: 4, max: 10 }),
  max: fc.integer({ min: 10, max: 40 }),
  rpm: fc.option(fc.integer({ min: 1, max: 300 })),
  tpm: fc.option(fc.integer({ min: 1, max: 100_000 })),
  burst: fc.option(fc.integer({ min: 1, max: 20 })),
  kind: fc.constantFrom<GovernorSettings['rate']['kind'][]>('auto', 'concurrency', 'rate'),
  learn: fc.boolean(),
  steps: fc.array(step, { maxLength: 60 }),
});

/** How a running call ends where the upstream tells nothing anew. */
const ending = fc.record({
  afterMs: fc.oneof(fc.nat(100), fc.nat(20_000)),
  kind: fc.constantFrom<OutcomeKind[]>('ok', 'ok', 'failed', 'lapsed', 'unknown'),
  tokens: fc.nat(12),
});

/** What the waiter wants, and whether a call goes just before him (the try, where one is due). */
const present = fc.record({ tokens: fc.nat(40), isTried: fc.boolean() });

/** Rates of an operator alone. */
const rates = fc.record({
  rpm: fc.integer({ min: 1, max: 300 }),
  tpm: fc.option(fc.integer({ min: 1, max: 200 })),
  burst: fc.option(fc.integer({ min: 1, max: 20 })),
  learn: fc.constant(false),
});

describe('a governor under any traffic', () => {
  test('stays within its bounds, opens again, says nothing that is not a number', () => {
    fc.assert(
      fc.property(world, ({ steps, mode, min, limit, max, ...rate }) => {
        const governor = makeGovernor(
          settings({ concurrency: { mode, min, limit, max }, rate }),
          { nowMs: T0, random: () => 0.5 },
        );
        const starts: number[] = [];
        const running: Start[] = [];
        let nowMs = T0;
        let sequence = 0;
        for (const { waitMs, starts: wanted, ends } of steps) {
          nowMs += waitMs;
          if (governor.dueAtMs <= nowMs) governor.advance(nowMs);
          for (let count = 0; count < wanted && running.length < governor.limit; count += 1) {
            const opening = governor.opening(nowMs, 10, 0);
            if (opening.kind === 'shut') {
              expect(opening.atMs).toBeGreaterThan(nowMs);
              expect(Number.isInteger(opening.atMs)).toBe(true);
              break;
            }
            const start = {
              sequence: ++sequence,
              inFlight: running.length + 1,
              atMs: nowMs,
              tokens: 10,
            };
            governor.started(nowMs, start);
            running.push(start);
            starts.push(nowMs);
          }
          for (const end of ends) {
            const start = running.shift();
            if (start) governor.ended(nowMs, start, end);
          }
          expect(governor.limit).toBeGreaterThanOrEqual(mode === 'fixed' ? limit : min);
          expect(governor.limit).toBeLessThanOrEqual(mode === 'fixed' ? limit : max);
          expect(Number.isInteger(governor.limit)).toBe(true);
          const told = JSON.stringify([governor.status(nowMs), governor.save(nowMs)]);
          expect(told).not.toMatch(/NaN|Infinity/);
          // A refused caller is told the same as who looks at the status.
          const gate = governor.opening(nowMs, 0, 0);
          if (gate.kind === 'shut') {
            const about = gate.reason === 'paused' ? 'pause' : 'rate';
            expect(governor.status(nowMs)).toMatchObject({ about, nextChangeAt: gate.atMs });
          }
          expect(governor.status(nowMs).nextChangeAt ?? Infinity).toBeGreaterThan(nowMs);
          for (const value of Object.values(governor.status(nowMs))) {
            if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true);
          }
        }
        if (rate.rpm !== null) expectNeverOver(starts, rate.rpm);
        // Whatever was learned, it ends: a day later a start may go, or may within minutes.
        const laterMs = nowMs + 90_000_000;
        const opening = governor.opening(laterMs, 0, 0);
        if (opening.kind === 'shut') expect(opening.atMs - laterMs).toBeLessThanOrEqual(300_000);
      }),
      { numRuns: 150 },
    );
  });

  test('opening agrees with itself: at the instant it tells, it is open', () => {
    fc.assert(
      fc.property(world, ({ steps, mode, min, limit, max, ...rate }) => {
        const governor = makeGovernor(
          settings({ concurrency: { mode, min, limit, max }, rate }),
          { nowMs: T0, random: () => 0.5 },
        );
        let nowMs = T0;
        let sequence = 0;
        for (const { waitMs, ends } of steps) {
          nowMs += waitMs;
          for (let tries = 0; tries < 5; tries += 1) {
            const opening = governor.opening(nowMs, 0, 0);
            if (opening.kind === 'open') break;
            nowMs = opening.atMs;
            expect(tries).toBeLessThan(4);
          }
          const start = { sequence: ++sequence, inFlight: 1, atMs: nowMs, tokens: 0 };
          governor.started(nowMs, start);
          for (const end of ends.slice(0, 1)) governor.ended(nowMs + 10, start, end);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('firmAtMs comes true: no start goes before it, however running calls end', () => {
    fc.assert(
      fc.property(world, present, fc.array(ending, { maxLength: 30 }), (past, now, ends) => {
        const { steps, mode, min, limit, max, ...rate } = past;
        const driver = new Driver({ concurrency: { mode, min, limit, max }, rate });
        for (const { waitMs, starts, ends: outcomes } of steps) {
          driver.pass(waitMs);
          for (let count = 0; count < starts && driver.isOpen(10); count += 1) driver.start(10);
          for (const each of outcomes) driver.endOldest(each);
        }
        const { tokens, isTried } = now;
        if (isTried) driver.pass(driver.opensAtMs(0, 10) - driver.nowMs);
        if (isTried && driver.isOpen(10)) driver.start(10);
        const firmAtMs = driver.governor.firmAtMs(driver.nowMs, tokens, 0);
        expect(firmAtMs).toBeLessThanOrEqual(driver.opensAtMs(0, tokens));
        for (const { afterMs, ...outcome } of ends) {
          driver.pass(afterMs);
          driver.endOldest(outcome);
          if (driver.nowMs < firmAtMs) expect(driver.isOpen(tokens)).toBe(false);
        }
        while (driver.inFlight > 0) driver.endOldest({ kind: 'failed', tokens: 0 });
        // With nothing running the instant that is told is sure.
        const opensAtMs = driver.opensAtMs(0, tokens);
        driver.pass(Math.max(0, opensAtMs - 1 - driver.nowMs));
        expect(driver.isOpen(tokens)).toBe(opensAtMs <= driver.nowMs);
        driver.pass(Math.max(0, opensAtMs - driver.nowMs));
        expect(driver.isOpen(tokens)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('firmAtMs comes true of those behind others that go as soon as they may', () => {
    const ahead = fc.array(fc.nat(20), { maxLength: 20 });
    fc.assert(
      fc.property(rates, ahead, fc.array(ending, { maxLength: 40 }), (rate, before, ends) => {
        const driver = new Driver({ concurrency: { mode: 'fixed' }, rate });
        for (let count = 0; count < 10 && driver.isOpen(10); count += 1) driver.start(10);
        const firmAtMs = driver.governor.firmAtMs(driver.nowMs, 15, before.length);
        for (const { afterMs, ...outcome } of ends) {
          for (let next = before[0]; next !== undefined && driver.isOpen(next); next = before[0]) {
            driver.start(next);
            before.shift();
          }
          if (before.length === 0 && driver.isOpen(15)) {
            expect(driver.nowMs).toBeGreaterThanOrEqual(firmAtMs);
            return;
          }
          driver.pass(afterMs);
          driver.endOldest(outcome);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('the same calls give the same state', () => {
    fc.assert(
      fc.property(world, ({ steps, mode, min, limit, max, ...rate }) => {
        const make = () =>
          makeGovernor(settings({ concurrency: { mode, min, limit, max }, rate }), {
            nowMs: T0,
            random: () => 0.3,
          });
        const [left, right] = [make(), make()];
        let nowMs = T0;
        let sequence = 0;
        for (const { waitMs, ends } of steps) {
          nowMs += waitMs;
          for (const end of ends) {
            const start = { sequence: ++sequence, inFlight: 2, atMs: nowMs, tokens: 1 };
            for (const governor of [left, right]) {
              governor.started(nowMs, start);
              governor.ended(nowMs + 5, start, end);
            }
          }
        }
        expect(left.status(nowMs)).toEqual(right.status(nowMs));
        expect(left.drainChanges()).toEqual(right.drainChanges());
      }),
      { numRuns: 40 },
    );
  });
});

function expectNeverOver(starts: readonly number[], rpm: number): void {
  for (let index = rpm; index < starts.length; index += 1) {
    expect(starts[index]! - starts[index - rpm]!).toBeGreaterThanOrEqual(60_000);
  }
}
