/**
 * Each change is told with a reason that is true of that very change: whatever happens to a pool,
 * and for each way in which a number that is told can change.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Change, GovernorSettings, Start } from '../../../src/core/governor/governor.ts';
import { makeGovernor } from '../../../src/core/governor/governors.ts';
import type { Outcome, OutcomeKind, RateReading } from '../../../src/core/outcome.ts';
import { Driver, OK, settings, T0, THROTTLED } from './fixtures.ts';

const OPERATOR = /^the operator (changed the settings|had it forget)$/;
const RESTART = /^the server started again$/;
/** What may be the reason of a change of what; operators and restarts change anything. */
const REASONS: Readonly<Record<Change['what'], RegExp>> = {
  limit: new RegExp(
    '^(all slots in use succeed|a trial of one more|nothing was heard of the level for long: .*' +
      '|refused, .*|refused too, in the same flight' +
      '|answers took .*|a lower level did not make answers faster)$',
  ),
  rpm: new RegExp(
    '^(refused, rate: .*|measured by .*|the rate carried; .*|the rate did not hold back for long' +
      "|(measured by .*; the rate carried; .*)|the upstream's headers (say so|are believed again)" +
      "|the upstream's headers tell of a window that sets no pace" +
      "|refused though the upstream's headers left plenty: they are not believed)$",
  ),
  headers: new RegExp(
    "^(the upstream's headers are believed again" +
      "|refused though the upstream's headers left plenty: they are not believed)$",
  ),
  tpm: /^the upstream's headers (say so|tell of a window that sets no pace)$/,
  pause: new RegExp(
    '^(refused, .*|the upstream asked to hold back|the upstream takes calls again' +
      "|the upstream's headers leave (nothing|some again|some sooner than told)" +
      "|refused though the upstream's headers left plenty: they are not believed)$",
  ),
};

const amount = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 1000 }));
const ms = fc.oneof(
  fc.integer({ min: 0, max: 90_000 }),
  fc.integer({ min: 0, max: 3_600_000 }),
  fc.integer({ min: 0, max: 90_000_000 }),
);
const reading: fc.Arbitrary<RateReading> = fc.record({
  limit: fc.integer({ min: 1, max: 1000 }),
  remaining: amount,
  resetMs: ms,
  windowMs: ms,
  tokenLimit: fc.integer({ min: 1, max: 10_000 }),
  tokenRemaining: amount,
  tokenResetMs: ms,
  windows: fc.array(
    fc.record({ limit: amount, remaining: amount, resetMs: ms, windowMs: ms }),
    { maxLength: 2 },
  ),
}, { requiredKeys: [] });
const outcome: fc.Arbitrary<Outcome> = fc.record({
  kind: fc.constantFrom<OutcomeKind[]>('ok', 'ok', 'ok', 'ok', 'throttled', 'failed', 'unsent'),
  reading: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, reading),
  retryAfterMs: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    fc.integer({ min: 0, max: 400_000 }),
  ),
  firstByteMs: fc.constantFrom(100, 120, 400),
}).map(({ retryAfterMs, ...rest }) => (
  retryAfterMs === undefined ? rest : { ...rest, retryAfterMs }
));
const configured: fc.Arbitrary<GovernorSettings> = fc.record({
  mode: fc.constantFrom<GovernorSettings['concurrency']['mode'][]>('adaptive', 'adaptive', 'fixed'),
  limit: fc.integer({ min: 2, max: 10 }),
  max: fc.integer({ min: 10, max: 40 }),
  rpm: fc.option(fc.integer({ min: 60, max: 600 })),
  tpm: fc.option(fc.integer({ min: 1, max: 100_000 })),
  kind: fc.constantFrom<GovernorSettings['rate']['kind'][]>('auto', 'concurrency', 'rate'),
  learn: fc.boolean(),
  maxPauseMs: fc.constantFrom(0, 20_000, 300_000),
}).map(({ mode, limit, max, ...rate }) => settings({ concurrency: { mode, limit, max }, rate }));

type Step =
  | { readonly kind: 'calls'; readonly waitMs: number; readonly ends: readonly Outcome[] }
  | { readonly kind: 'configure'; readonly settings: GovernorSettings }
  | { readonly kind: 'forget' | 'restart' };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      waitMs: fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: 0, max: 700 }) },
        { weight: 2, arbitrary: fc.integer({ min: 0, max: 60_000 }) },
        fc.constant(610_000),
      ),
      ends: fc.array(outcome, { maxLength: 12 }),
    }),
  },
  fc.record({ kind: fc.constant('configure' as const), settings: configured }),
  fc.constant({ kind: 'forget' as const }),
  fc.constant({ kind: 'restart' as const }),
);

test('whatever happens, each change says why, and names who it was', () => {
  const world = fc.record({ first: configured, steps: fc.array(step, { maxLength: 80 }) });
  fc.assert(
    fc.property(world, ({ first, steps }) => {
      let now = first;
      let nowMs = T0;
      let governor = makeGovernor(now, { nowMs, random: () => 0.5 });
      let running: Start[] = [];
      let sequence = 0;
      const check = (wanted: RegExp | null) => {
        for (const change of governor.drainChanges()) {
          const isTrue = REASONS[change.what].test(change.why) || wanted?.test(change.why);
          if (!isTrue) expect(change).toEqual('a change with a reason of its own');
          expectDirection(change);
        }
      };
      for (const taken of steps) {
        if (taken.kind === 'calls') {
          nowMs += taken.waitMs;
          if (governor.dueAtMs <= nowMs) governor.advance(nowMs);
          while (running.length < governor.limit) {
            if (governor.opening(nowMs, 10, 0).kind === 'shut') break;
            const inFlight = running.length + 1;
            const start = { sequence: ++sequence, inFlight, atMs: nowMs, tokens: 10 };
            governor.started(nowMs, start);
            running.push(start);
          }
          nowMs += 100;
          for (const end of taken.ends) {
            const start = running.shift();
            if (start) governor.ended(nowMs, start, end);
          }
          check(null);
          continue;
        }
        if (taken.kind === 'configure') governor.configure(nowMs, now = taken.settings);
        if (taken.kind === 'forget') governor.forget(nowMs);
        if (taken.kind === 'restart') {
          running = [];
          governor = makeGovernor(now, { nowMs, random: () => 0.5, saved: governor.save(nowMs) });
        }
        check(taken.kind === 'restart' ? RESTART : OPERATOR);
      }
    }),
    { numRuns: 200 },
  );
});

/** What opens does not hold back, and what holds back does not open. */
function expectDirection({ what, from, to, why }: Change): void {
  if (what !== 'pause') return;
  const lengthOf = (pauseMs: number | null) => pauseMs ?? 0.5;
  const isLonger = lengthOf(to) > lengthOf(from);
  if (/takes calls again|leave some|not believed/.test(why)) expect(isLonger).toBe(false);
  if (/leave nothing|asked to hold back|^refused,/.test(why)) expect(isLonger).toBe(true);
}

function toldBy({ governor }: Driver) {
  return governor.drainChanges().map(({ what, from, to, why }) => [what, from, to, why]);
}

const FIXED = { mode: 'fixed', limit: 8 } as const;
const MINUTE: Outcome = { ...OK, reading: { limit: 10, remaining: 9, resetMs: 60_000 } };
const DAY: Outcome = { ...OK, reading: { limit: 1000, remaining: 900, resetMs: 90_000_000 } };
const NO_PACE = "the upstream's headers tell of a window that sets no pace";

describe("a rate of the upstream's headers", () => {
  test.each([
    { rpm: null, after: null },
    { rpm: 600, after: 600 },
  ])('that ends with a day-long window says so, with an own rate of $rpm', ({ rpm, after }) => {
    const driver = new Driver({ concurrency: FIXED, rate: { rpm } });
    driver.governor.configure(T0, settings({ concurrency: { ...FIXED, limit: 9 }, rate: { rpm } }));
    driver.end(driver.start(), MINUTE);
    toldBy(driver);
    driver.end(driver.start(), DAY);
    // For a minute the one that was told before may be told in turn.
    expect(toldBy(driver)).toEqual([]);
    driver.nowMs += 60_000;
    driver.end(driver.start(), DAY);
    expect(toldBy(driver)).toEqual([['rpm', 10, after, NO_PACE]]);
  });

  test('that is not believed any more, and is again', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate', rpm: 600 } });
    driver.end(driver.start(), MINUTE);
    toldBy(driver);
    driver.end(driver.start(), { ...THROTTLED, ...MINUTE, kind: 'throttled' });
    const doubt = "refused though the upstream's headers left plenty: they are not believed";
    expect(toldBy(driver)).toContainEqual(['rpm', 10, 600, doubt]);
    driver.nowMs += 600_000;
    driver.governor.configure(driver.nowMs, settings({ concurrency: FIXED, rate: { rpm: 300 } }));
    const again = "the upstream's headers are believed again";
    expect(toldBy(driver)).toEqual([['rpm', 600, 10, again], ['headers', 0, 1, again]]);
  });

  test('that shows none is told, too, when it is not believed any more, and is again', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'rate' } });
    const reading = { ...MINUTE.reading, refills: true } as const;
    driver.end(driver.start(), { ...THROTTLED, reading });
    const doubt = "refused though the upstream's headers left plenty: they are not believed";
    expect(toldBy(driver)).toContainEqual(['headers', 1, 0, doubt]);
    driver.nowMs += 600_000;
    driver.end(driver.start(), OK);
    const again = "the upstream's headers are believed again";
    expect(toldBy(driver)).toContainEqual(['headers', 0, 1, again]);
  });

  test("that goes by the operator's word is the operator's doing, a shut one too", () => {
    const learning = { concurrency: FIXED, rate: { tpm: 5000 } };
    const driver = new Driver(learning);
    const reading = { ...MINUTE.reading, remaining: 0, tokenLimit: 900, tokenRemaining: 900 };
    driver.end(driver.start(), { ...OK, reading: { ...reading, tokenResetMs: 60_000 } });
    const shut = driver.opensAtMs() - T0;
    toldBy(driver);
    const rate = { tpm: 5000, learn: false };
    driver.governor.configure(T0, settings({ concurrency: FIXED, rate }));
    const why = 'the operator changed the settings';
    expect(toldBy(driver)).toEqual([
      ['rpm', 10, null, why],
      ['tpm', 900, 5000, why],
      ['pause', shut, 0, why],
    ]);
  });
});

describe('one step that changes several numbers', () => {
  test('tells of each its own reason', () => {
    const driver = new Driver({ rate: { kind: 'rate' } });
    driver.rounds(4, 700);
    const starts = driver.fill();
    driver.end(starts.pop()!, THROTTLED);
    for (const start of starts) driver.end(start);
    driver.nowMs = driver.opensAtMs();
    toldBy(driver);
    const scout = driver.start();
    driver.nowMs += 20;
    driver.end(scout);
    expect(toldBy(driver)).toEqual([
      ['rpm', null, expect.any(Number), expect.stringMatching(/^measured by what was taken/)],
      ['pause', null, 0, 'the upstream takes calls again'],
    ]);
  });

  test('a window that is over is not what opens when calls are taken again', () => {
    const driver = new Driver({ concurrency: FIXED, rate: { kind: 'concurrency' } });
    const reading = { limit: 10, remaining: 0, resetMs: 9000 };
    driver.end(driver.start(), { ...THROTTLED, retryAfterMs: 6000, reading });
    driver.nowMs = driver.opensAtMs();
    toldBy(driver);
    driver.end(driver.start());
    expect(toldBy(driver)).toEqual([['pause', null, 0, 'the upstream takes calls again']]);
  });
});

test('a level that rises because nothing was heard for long says that', () => {
  const driver = new Driver({ concurrency: { limit: 2 } });
  driver.rounds(1, 500);
  driver.pass(500);
  driver.governor.configure(driver.nowMs, settings({ concurrency: { limit: 2, max: 20 } }));
  toldBy(driver);
  driver.nowMs += 600_000;
  driver.fill();
  const why = 'nothing was heard of the level for long: one more is tried';
  expect(toldBy(driver)).toEqual([['limit', 3, 4, why]]);
});
