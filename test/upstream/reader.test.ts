/** The parser over fixtures (headers as vendors send them), and the rules by which it reads. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RateReading } from '../../src/core/outcome.ts';
import type { Hints } from '../../src/upstream/dialect.ts';
import { type HeaderSource, readRates } from '../../src/upstream/reader.ts';

interface Fixture {
  readonly id: string;
  readonly note: string;
  readonly now: number;
  readonly headers: Record<string, string | string[]>;
  readonly body?: unknown;
  readonly hint?: Hints;
  readonly expected: unknown;
  readonly alt?: readonly unknown[];
}

const FIXTURES: readonly Fixture[] = JSON.parse(
  readFileSync(new URL('./rate_headers.json', import.meta.url), 'utf8'),
);

/** Some headers can be read in more than one way: then one of these must be met, to the letter. */
describe('readRates reads the fixture', () => {
  it.each(FIXTURES.map((fixture) => [fixture.id, fixture] as const))('%s', (_id, fixture) => {
    // How a limit refills is known of the vendor, and no header says it.
    const { refills: _ofRequests, tokenRefills: _ofTokens, ...reading } = readRates(
      fixture.headers,
      {
        nowMs: fixture.now,
        body: fixture.body,
        ...(fixture.hint === undefined ? {} : { hints: fixture.hint }),
      },
    );
    const accepted = [fixture.expected, ...(fixture.alt ?? [])];
    const isMet = accepted.some((one) => {
      try {
        expect(reading).toEqual(one);
        return true;
      } catch {
        return false;
      }
    });
    if (!isMet) expect(reading, fixture.note).toEqual(fixture.expected);
  });
});

/** Windows are listed as their headers stand, so that their order alone may differ. */
function sorted({ windows = [], ...top }: RateReading) {
  return { ...top, windows: new Set(windows) };
}

it('readRates reads the fixtures alike in any order, case and padding', () => {
  for (const { id, headers, now: nowMs, body } of FIXTURES) {
    const changed = Object.entries(headers).toReversed().map(([name, value]) => {
      const lines = [value].flat().map((line) => `\t ${line}  `);
      return [name.toUpperCase(), lines];
    });
    expect(sorted(readRates(Object.fromEntries(changed), { nowMs, body })), id)
      .toEqual(sorted(readRates(headers, { nowMs, body })));
  }
});

const NOW_MS = 1_767_225_600_000;

function read(headers: HeaderSource, body?: unknown): RateReading {
  return readRates(headers, { nowMs: NOW_MS, body });
}

describe('readRates takes headers', () => {
  it('as a Headers object, as pairs, and with several lines of one name', () => {
    const policies = ['"a";q=100;w=60', '"b";q=10;w=1'];
    const states = ['"a";r=50;t=30', '"b";r=9;t=1'];
    const expected = read({ 'RateLimit-Policy': policies, 'RateLimit': states });
    expect(expected.windows).toHaveLength(2);

    const headers = new Headers();
    for (const policy of policies) headers.append('ratelimit-policy', policy);
    for (const state of states) headers.append('RATELIMIT', state);
    expect(read(headers)).toEqual(expected);

    const pairs = [
      ...policies.map((policy) => ['Ratelimit-Policy', policy] as const),
      ...states.map((state) => ['ratelimit', state] as const),
    ];
    expect(read(pairs)).toEqual(expected);
  });

  it('of one name in several cases, as one list', () => {
    expect(read({ 'Retry-After': '30', 'retry-after': '60' })).toEqual({ retryAfterMs: 60_000 });
  });

  it('but no value beyond 8 KiB', () => {
    expect(read({ 'Retry-After': `1${' '.repeat(8_192)}`, 'RateLimit-Limit': '5' })).toEqual({
      retryAfterMs: 1_000,
      limit: 5,
    });
    expect(read({ 'Retry-After': '1,'.repeat(5_000), 'RateLimit-Limit': '5' })).toEqual({
      limit: 5,
    });
  });

  it('but no more than 64 of names that are made up in part, which hide no other', () => {
    const made = (count: number) =>
      Array.from({ length: count }, (_, at) => [`X-RateLimit-Limit-a${at}`, 'junk'] as const);
    const last = ['X-RateLimit-Remaining-z', '0'] as const;
    expect(read([...made(63), last])).toMatchObject({ remaining: 0 });
    expect(read([...made(64), last])).toEqual({});
    expect(read([...made(99), ['Retry-After', '3'], ['RateLimit-Limit', '5']])).toEqual({
      retryAfterMs: 3_000,
      limit: 5,
    });
  });
});

describe('readRates reads the good one of several lines, where', () => {
  it.each([
    ['Retry-After', ['soon', '7'], 7_000],
    ['Retry-After', ['7', 'soon'], 7_000],
    ['Retry-After', ['NaN', '7', 'later', '5'], 7_000],
    ['Retry-After', ['7', 'Thu, 01 Jan 2026 00:00:05 GMT'], 7_000],
    ['Retry-After', ['Thu, 01 Jan 2026 00:00:05 GMT, 7'], 7_000],
    ['Retry-After', ['Thu Jan  1 00:00:05 2026', 'Thu, 01 Jan 2026 00:00:07 GMT'], 7_000],
    ['Retry-After', ['Wed, 31 Dec 2025 23:59:00 GMT', '-3', 'soon'], 0],
    ['Retry-After', ['soon', 'Thursday, 01-Jan-26 00:00:07 GMT'], 7_000],
    ['Retry-After', ['Thu Jan  1 00:00:07 2026', 'soon'], 7_000],
    ['retry-after-ms', ['soon', '7'], 7],
  ])('%s is %j', (name, lines, retryAfterMs) => {
    expect(read({ [name]: lines })).toEqual({ retryAfterMs });
  });
});

describe('readRates gives precedence', () => {
  it('to the retry hint in ms, then to Retry-After, then to a vendor field', () => {
    const headers = {
      'X-RateLimit-Retry-After': '9',
      'Retry-After': '3',
      'x-ms-retry-after-ms': '2100',
      'retry-after-ms': '2000',
    };
    expect(read(headers).retryAfterMs).toBe(2_000);
    expect(read({ ...headers, 'retry-after-ms': '100000000000' }).retryAfterMs).toBe(2_100);
    expect(read({ ...headers, 'retry-after-ms': 'soon' }).retryAfterMs).toBe(2_100);
    expect(read({ ...headers, 'retry-after-ms': '', 'x-ms-retry-after-ms': '-' }).retryAfterMs)
      .toBe(3_000);
    expect(read({ 'X-RateLimit-Retry-After': '9' }).retryAfterMs).toBe(9_000);
  });

  it('to the exhausted window that resets last, though another has a smaller share', () => {
    const reading = read({
      'X-RateLimit-Limit-Second': '10',
      'X-RateLimit-Remaining-Second': '0',
      'X-RateLimit-Reset-Second': '1',
      'X-RateLimit-Limit-Hour': '100',
      'X-RateLimit-Remaining-Hour': '0',
      'X-RateLimit-Reset-Hour': '600',
      'X-RateLimit-Limit-Day': '1000000',
      'X-RateLimit-Remaining-Day': '1',
    });
    expect(reading).toMatchObject({ limit: 100, remaining: 0, resetMs: 600_000 });
  });

  it('to the longest of the exhausted windows, where no reset is told', () => {
    const exhausted = {
      'X-RateLimit-Limit-Minute': '5',
      'X-RateLimit-Remaining-Minute': '0',
      'X-RateLimit-Limit-Day': '50',
      'X-RateLimit-Remaining-Day': '0',
      'X-RateLimit-Limit-Hour': '20',
      'X-RateLimit-Remaining-Hour': '0',
    };
    expect(read(exhausted)).toMatchObject({ limit: 50, remaining: 0, windowMs: 86_400_000 });
    const twin = { 'RateLimit-Limit': '20', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '600' };
    expect(read({ ...exhausted, ...twin })).toMatchObject({ limit: 20, resetMs: 600_000 });
  });

  it('to a reset that names its unit, over the hint', () => {
    const hinted = (headers: Record<string, string>) =>
      readRates(headers, { nowMs: NOW_MS, hints: { resetUnit: 'ms' } });
    expect(hinted({ 'X-RateLimit-Reset': '2000' })).toEqual({ resetMs: 2_000 });
    expect(hinted({ 'X-RateLimit-Reset-Ms': '2000' })).toEqual({ resetMs: 2_000 });
    expect(hinted({ 'X-Codex-Primary-Reset-After-Seconds': '2', 'X-Ttl': '2' })).toEqual({
      resetMs: 2_000,
    });
    expect(hinted({ 'Retry-After': '2' })).toEqual({ retryAfterMs: 2_000 });
  });
});

describe('readRates keeps apart', () => {
  it('the limit of one family and the reset of another', () => {
    const reading = read({ 'RateLimit-Reset': '60', 'X-RateLimit-Limit': '5000' });
    expect(reading).toEqual({ limit: 5_000 });
  });

  it('two families with different budgets: the tighter one binds, both are listed', () => {
    expect(read({
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '99',
      'X-RateLimit-Limit': '5000',
      'X-RateLimit-Remaining': '1',
    })).toEqual({
      limit: 5_000,
      remaining: 1,
      windows: [{ limit: 100, remaining: 99 }, { limit: 5_000, remaining: 1 }],
    });
  });

  it('what counts bytes or calls in flight, and what counts requests', () => {
    expect(read({
      'RateLimit': '"bytes";r=0;t=5, "calls";r=50;t=30, "odd";r=1',
      'RateLimit-Policy': '"calls";q=100;w=60, "bytes";q=5000;w=60;qu="content-bytes"',
    })).toMatchObject({ limit: 100, remaining: 50, resetMs: 30_000, scope: 'calls' });
  });

  it('a bad header and the good ones beside it', () => {
    expect(read({
      'X-RateLimit-Limit': '1,000',
      'X-RateLimit-Remaining': '7',
      'X-RateLimit-Reset': 'tomorrow',
      'Retry-After': '1e3',
      'X-App-Usage': '{"call_count":',
    })).toEqual({ remaining: 7 });
  });
});

describe('readRates believes', () => {
  it('no count that stands for "no limit", and no reset of 0 beside it', () => {
    expect(read({ 'X-RateLimit-Limit': '-1', 'X-RateLimit-Remaining': '-1' })).toEqual({});
    expect(read({ 'X-RateLimit-Remaining': '-1', 'X-RateLimit-Reset': '0' })).toEqual({});
    expect(read({ 'X-RateLimit-Limit': '9223372036854775807' })).toEqual({});
    expect(read({ 'X-RateLimit-Limit': '-1', 'X-RateLimit-Remaining': '5' })).toEqual({
      remaining: 5,
    });
  });

  it('nothing that a cache repeats', () => {
    const headers = { 'Age': '1', 'Retry-After': '5', 'RateLimit-Remaining': '0' };
    expect(read(headers)).toEqual({});
    expect(read({ ...headers, 'Age': '0' })).toEqual({ retryAfterMs: 5_000, remaining: 0 });
  });

  it("a server's clock that is ahead of ours, but not one that is behind", () => {
    const headers = { 'X-RateLimit-Reset': '1767225670' };
    const ahead = { ...headers, Date: 'Thu, 01 Jan 2026 00:01:00 GMT' };
    const behind = { ...headers, Date: 'Wed, 31 Dec 2025 23:59:00 GMT' };
    expect(read(ahead)).toEqual({ resetMs: 10_000 });
    expect(read(behind)).toEqual({ resetMs: 70_000 });
  });
});

describe('readRates reads bodies', () => {
  it('of Google APIs, as an object, a list or text', () => {
    const error = { error: { details: [{ '@type': 'ErrorInfo' }, { retryDelay: '57.2381s' }] } };
    for (const body of [error, [error], JSON.stringify(error)]) {
      expect(read({}, body)).toEqual({ retryAfterMs: 57_239 });
    }
    expect(read({ 'Retry-After': '3' }, error)).toEqual({ retryAfterMs: 3_000 });
  });

  it('of OpenRouter, whose headers stand in for those that the answer lacks', () => {
    const headers = {
      'X-RateLimit-Limit': '50',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1767225660000',
      'Age': '100',
    };
    const body = { error: { code: 429, metadata: { headers } } };
    expect(read({}, body)).toEqual({ limit: 50, remaining: 0, resetMs: 60_000 });
    expect(read({ 'x-ratelimit-remaining': '3' }, body).remaining).toBe(3);
  });

  it.each([[null], [1], ['{'], ['text'], [[]], [{ error: 5 }], [{ error: { details: 'x' } }], [{
    extensions: { cost: { throttleStatus: { maximumAvailable: 1, currentlyAvailable: NaN } } },
  }]])('and finds nothing in %j', (body) => {
    expect(read({}, body)).toEqual({});
  });

  it('of Shopify without a restore rate, and tells no reset', () => {
    const throttleStatus = { maximumAvailable: 1_000, currentlyAvailable: 0, restoreRate: 0 };
    expect(read({}, { extensions: { cost: { throttleStatus } } })).toEqual({
      windows: [{ unit: 'points', limit: 1_000, remaining: 0 }],
    });
  });
});
