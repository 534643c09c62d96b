/** The parser under hostile input: it never throws, its numbers are sound, its time is linear. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DIALECTS } from '../../src/upstream/dialects.ts';
import { readRates } from '../../src/upstream/reader.ts';
import { judge } from '../../src/upstream/verdict.ts';

const NOW_MS = 1_767_225_600_000;
const RESET_MS_MAX = 400 * 86_400_000;

/** Names as they are sent: those of all samples. */
const NAMES = [
  ...new Set(
    DIALECTS.flatMap(({ samples }) => samples.flatMap(({ headers }) => Object.keys(headers))),
  ),
];
/** Values as they are sent, and parts of which hostile ones are made. */
const VALUES = DIALECTS.flatMap(({ samples }) =>
  samples.flatMap(({ headers }) => Object.values(headers))
);
const PARTS = [
  ...['0', '1', '-1', '9', '1e9', '.5', '1767225630', '9'.repeat(25), 'NaN', 'Infinity', '-0'],
  ...[',', ';', '"', '\\', '=', ':', '(', ')', '{', '}', '[', ']', '/', ' ', '\t', '\u0000'],
  ...['w=', 'r=', 't=', 'q=', 'qu=', 'limit=', 'a', 's', 'ms', 'h', 'GMT', 'Thu', 'Jan', 'Z', 'µs'],
];

const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...NAMES) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'x-ratelimit-limit-a') },
);
const value = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.array(fc.constantFrom(...PARTS), { maxLength: 24 }).map((parts) => parts.join('')),
  fc.integer().map(String),
  fc.double().map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.string({ unit: 'binary', maxLength: 60 }),
);
const headers = fc.array(
  fc.tuple(name, fc.oneof(value, fc.array(value, { maxLength: 4 }))),
  { maxLength: 16 },
).map((pairs) => Object.fromEntries(pairs) as Record<string, string | string[]>);

/** Every number of a reading or window, by its name. */
function* numbersOf(part: object): Generator<[string, number]> {
  for (const [key, field] of Object.entries(part)) {
    if (typeof field === 'number') yield [key, field];
    else if (typeof field === 'object' && field !== null) yield* numbersOf(field);
    else if (!key.toLowerCase().endsWith('refills')) expect(field, key).toBeTypeOf('string');
  }
}

function expectSound(reading: object): void {
  for (const [key, number] of numbersOf(reading)) {
    expect(Number.isFinite(number), `${key} ${number}`).toBe(true);
    expect(number, key).toBeGreaterThanOrEqual(0);
    expect(Object.is(number, -0), key).toBe(false);
    if (key.endsWith('Ms')) expect(Number.isInteger(number), `${key} ${number}`).toBe(true);
    if (/^(?:token)?limit$/i.test(key)) expect(number, key).toBeGreaterThan(0);
    if (/reset|retry/i.test(key)) expect(number, key).toBeLessThanOrEqual(RESET_MS_MAX);
  }
}

describe('readRates', () => {
  it('never throws, and gives sound numbers only, whatever the headers are', () => {
    fc.assert(
      fc.property(headers, fc.constantFrom(undefined, 's', 'ms'), (given, resetUnit) => {
        const hints = resetUnit === undefined ? {} : { hints: { resetUnit } as const };
        expectSound(readRates(given, { nowMs: NOW_MS, ...hints }));
      }),
      { numRuns: 3_000 },
    );
  });

  it('never throws, and gives sound numbers only, whatever the body is', () => {
    const shaped = fc.record({
      error: fc.oneof(
        fc.array(value),
        fc.record({
          details: fc.array(fc.record({ retryDelay: value })),
          metadata: fc.record({ headers }),
          code: fc.anything(),
          errors: fc.anything(),
        }, { requiredKeys: [] }),
      ),
      extensions: fc.record({
        cost: fc.record({
          requestedQueryCost: fc.double(),
          throttleStatus: fc.record({
            maximumAvailable: fc.double(),
            currentlyAvailable: fc.double(),
            restoreRate: fc.double(),
          }),
        }),
      }),
      errors: fc.anything(),
    }, { requiredKeys: [] });
    const body = fc.oneof(shaped, fc.anything(), fc.json());
    fc.assert(
      fc.property(body, fc.constantFrom(200, 400, 403, 429, 503), (given, status) => {
        const { reading = {}, retryAfterMs = 0 } = judge({
          status,
          headers: {},
          body: given,
          nowMs: NOW_MS,
        });
        expectSound({ ...reading, outcome: { retryAfterMs } });
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives the same retry hint whatever the order of the headers is', () => {
    const apart = fc.uniqueArray(fc.tuple(name, value), {
      maxLength: 8,
      selector: ([header]) => header.toLowerCase(),
    });
    fc.assert(
      fc.property(apart, (pairs) => {
        const hint = (given: typeof pairs) => readRates(given, { nowMs: NOW_MS }).retryAfterMs;
        expect(hint([...pairs].reverse())).toBe(hint(pairs));
      }),
    );
  });
});

describe('readRates takes linear time', () => {
  const PATTERNS = [
    ...[',', '"', '(', ')', ';', '=', '\\', '[', '{', '9', '1 ', '1,', '1:1:1,', '1;w=1,', '1s'],
    ...['"a";', '"\\', 'a=1;', '"a";r=1;t=1,', '"a";q=1;w=1,', 'Thu, ', ' ', '-', '1.', '{"a":'],
  ];

  /** The fastest of a few runs, in ms: noise only ever adds. */
  function fastestMs(run: () => void): number {
    let fastest = Infinity;
    for (let at = 0; at < 5; at++) {
      const startMs = performance.now();
      run();
      fastest = Math.min(fastest, performance.now() - startMs);
    }
    return fastest;
  }

  it.each(PATTERNS)('with every header full of %j', { retry: 2 }, (pattern) => {
    const timeMs = (length: number) => {
      const text = pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length);
      const given = Object.fromEntries(NAMES.slice(0, 64).map((header) => [header, text]));
      return fastestMs(() => expectSound(readRates(given, { nowMs: NOW_MS })));
    };
    // Code that is still being compiled would be timed otherwise.
    timeMs(8_192);
    // Eight times the text: 8 if linear, 64 if quadratic. The floor keeps noise out of it.
    expect(timeMs(8_192) / Math.max(timeMs(1_024), 0.5)).toBeLessThan(32);
  });

  it('with names that never end', { retry: 2 }, () => {
    const timeMs = (length: number) => {
      const given = Object.fromEntries(
        Array.from({ length: 64 }, (_, at) => ['x-ratelimit-'.repeat(length) + at, '1']),
      );
      return fastestMs(() => readRates(given, { nowMs: NOW_MS }));
    };
    timeMs(10);
    expect(timeMs(800) / Math.max(timeMs(100), 0.5)).toBeLessThan(32);
  });
});
