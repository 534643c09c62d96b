/** Which of an answer's headers a report keeps: every one that the server can read rates from. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/client/report.ts';
import { merged, reportOf } from '../../src/client/report.ts';

interface Sample {
  readonly headers?: Record<string, string | string[]>;
}

describe('reportOf', () => {
  it('keeps the status, and of 429s that there was one', () => {
    expect(reportOf(new Response('', { status: 429 }))).toEqual({ status: 429, throttled: 1 });
    expect(reportOf(Response.error())).toEqual({});
  });

  it('keeps every header that tells of rates, and no other', () => {
    const samples = samplesIn(JSON.parse(readFileSync('test/upstream/rate_headers.json', 'utf8')));
    const names = new Set(samples.flatMap(({ headers }) => Object.keys(headers ?? {})));
    expect(names.size).toBeGreaterThan(20);
    const others = /^(content-type|x-amzn-requestid|server-timing|twilio-request-duration)$/i;
    const lost = [...names].filter((name) => !others.test(name)).filter((name) => {
      const kept = reportOf({ status: 200, headers: new Headers({ [name]: '1' }) });
      return kept.headers === undefined;
    });
    expect(lost).toEqual([]);
    const headers = new Headers({ 'set-cookie': 'a', authorization: 'b', 'content-type': 'c' });
    expect(reportOf({ status: 200, headers })).toEqual({ status: 200 });
  });
});

describe('merged', () => {
  it('keeps what a later report leaves undefined', () => {
    const answer = { status: 503, headers: { 'retry-after': '5' } };
    const later = { status: undefined, headers: undefined, tokens: 10 } as unknown as Report;
    expect(merged(answer, later)).toEqual({ ...answer, tokens: 10 });
    expect(merged({}, later)).toStrictEqual({ tokens: 10 });
  });

  it('adds up what counts, and lets the headers of an earlier answer go', () => {
    const answer = { status: 429, throttled: 1, headers: { 'retry-after': '5' }, tokens: 3 };
    expect(merged(merged(answer, answer), { status: 200, tokens: 4 })).toEqual({
      status: 200,
      throttled: 2,
      tokens: 10,
    });
  });
});

function samplesIn(value: unknown): Sample[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'headers' in value ? [value as Sample] : [];
  return [...own, ...Object.values(value).flatMap(samplesIn)];
}
