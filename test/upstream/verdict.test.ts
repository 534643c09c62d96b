/** What kind of outcome an answer is, by status, headers and body, and what hint it carries. */
import { describe, expect, it } from 'vitest';
import { type Answer, judge } from '../../src/upstream/verdict.ts';

const NOW_MS = 1_767_225_600_000;

function verdict(status: number | undefined, rest: Partial<Answer> = {}) {
  return judge({
    headers: {},
    nowMs: NOW_MS,
    ...(status === undefined ? {} : { status }),
    ...rest,
  });
}

function graphqlError(code: string) {
  return { errors: [{ message: 'no', extensions: { code } }] };
}

describe('judge calls', () => {
  it.each([
    [200, 'ok'],
    [304, 'ok'],
    [404, 'ok'],
    [401, 'ok'],
    [403, 'ok'],
    [418, 'ok'],
    [429, 'throttled'],
    [500, 'failed'],
    [503, 'failed'],
    [529, 'failed'],
    [undefined, 'unknown'],
    [101, 'unknown'],
    [0, 'unknown'],
  ])('the bare status %s %s', (status, kind) => {
    expect(verdict(status)).toEqual({ kind, ...(status === undefined ? {} : { status }) });
  });

  it('a 403 of GitHub throttled where its headers or words say so', () => {
    expect(verdict(403, { headers: { 'x-ratelimit-remaining': '0' } }).kind).toBe('throttled');
    expect(verdict(403, { headers: { 'x-ratelimit-remaining': '9', 'retry-after': '60' } }))
      .toMatchObject({ kind: 'throttled', retryAfterMs: 60_000 });
    expect(verdict(403, { body: { message: 'You have exceeded a secondary rate limit.' } }).kind)
      .toBe('throttled');
    expect(verdict(403, { body: { message: 'Bad credentials' } }).kind).toBe('ok');
    expect(verdict(403, { headers: { 'x-ratelimit-remaining': '9' } }).kind).toBe('ok');
  });

  it('a 403 ok where Retry-After: 0 comes with every answer', () => {
    const headers = { 'x-ratelimit-remaining': '49', 'retry-after': '0' };
    expect(verdict(403, { headers })).toEqual({
      kind: 'ok',
      status: 403,
      reading: { remaining: 49, retryAfterMs: 0 },
    });
  });

  it('a 403 of Google throttled by its reason', () => {
    const body = { error: { code: 403, errors: [{ reason: 'userRateLimitExceeded' }] } };
    expect(verdict(403, { body }).kind).toBe('throttled');
    const denied = { error: { code: 403, errors: [{ reason: 'forbidden' }] } };
    expect(verdict(403, { body: denied }).kind).toBe('ok');
  });

  it('a 418 of Binance throttled', () => {
    const headers = { 'Retry-After': '120', 'x-mbx-used-weight-1m': '6100' };
    expect(verdict(418, { headers })).toMatchObject({ kind: 'throttled', retryAfterMs: 120_000 });
  });

  it('a 400 of Linear throttled, by its code or by the complexity that is spent', () => {
    const headers = {
      'X-RateLimit-Requests-Limit': '2500',
      'X-RateLimit-Requests-Remaining': '2000',
      'X-RateLimit-Complexity-Limit': '3000000',
      'X-RateLimit-Complexity-Remaining': '0',
      'X-RateLimit-Complexity-Reset': '1767227400000',
    };
    expect(verdict(400, { body: graphqlError('RATELIMITED') }).kind).toBe('throttled');
    expect(verdict(400, { headers })).toMatchObject({
      kind: 'throttled',
      retryAfterMs: 1_800_000,
    });
    expect(verdict(400, { headers, body: graphqlError('INVALID_INPUT') }).kind).toBe('ok');
    expect(verdict(400, { headers: { 'x-ratelimit-remaining': '0' } }).kind).toBe('ok');
  });

  it('a 200 of Shopify throttled, until the points for the query are there', () => {
    const cost = {
      requestedQueryCost: 252,
      throttleStatus: { maximumAvailable: 1_000, currentlyAvailable: 2, restoreRate: 50 },
    };
    const body = { ...graphqlError('THROTTLED'), extensions: { cost } };
    expect(verdict(200, { body })).toMatchObject({ kind: 'throttled', retryAfterMs: 5_000 });
    const answered = verdict(200, { body: { data: {}, extensions: { cost } } });
    expect(answered.kind).toBe('ok');
    expect(answered.retryAfterMs).toBeUndefined();
  });

  it('a 200 of Kraken throttled, with or without a time', () => {
    expect(verdict(200, { body: { error: ['EService: Throttled: 1767225630'], result: {} } }))
      .toMatchObject({ kind: 'throttled', retryAfterMs: 30_000 });
    expect(verdict(200, { body: { error: ['EAPI:Rate limit exceeded'] } })).toEqual({
      kind: 'throttled',
      status: 200,
    });
    expect(verdict(200, { body: { error: [], result: {} } }).kind).toBe('ok');
    expect(verdict(200, { body: { error: ['EOrder:Insufficient funds'] } }).kind).toBe('ok');
  });

  it('a 400 of Meta throttled by its code', () => {
    expect(verdict(400, { body: { error: { code: 17, message: 'no' } } }).kind).toBe('throttled');
    expect(verdict(400, { body: { error: { code: 80004 } } }).kind).toBe('throttled');
    expect(verdict(400, { body: { error: { code: 100 } } }).kind).toBe('ok');
  });
});

describe('judge hands on', () => {
  it('the retry hint of a failure, which is no refusal', () => {
    expect(verdict(503, { headers: { 'Retry-After': '7' } })).toEqual({
      kind: 'failed',
      status: 503,
      retryAfterMs: 7_000,
      reading: { retryAfterMs: 7_000 },
    });
  });

  it('no retry hint of an answer, though its reading keeps it', () => {
    const headers = { 'Retry-After': '2', 'X-RateLimit-Remaining': '7' };
    expect(verdict(200, { headers })).toEqual({
      kind: 'ok',
      status: 200,
      reading: { remaining: 7, retryAfterMs: 2_000 },
    });
  });

  it('hints to the reader', () => {
    const answer = {
      headers: { 'X-Rate-Limit-Reset': '600000' },
      hints: { resetUnit: 'ms' } as const,
    };
    expect(verdict(429, answer).reading).toEqual({ resetMs: 600_000 });
  });
});
