/** The command's lines in and out; what headers mean is tested with the reader. */
import { describe, expect, it } from 'vitest';
import { readRateHeaders } from '../../src/cli/rate_headers.ts';

const NOW_MS = 1_767_225_600_000;

async function run(...lines: string[]): Promise<unknown[]> {
  async function* input() {
    yield* lines;
    await Promise.resolve();
  }
  const answers: unknown[] = [];
  for await (const line of readRateHeaders(input())) answers.push(JSON.parse(line));
  return answers;
}

describe('readRateHeaders', () => {
  it('gives the normal form of each line, in order', async () => {
    const answers = await run(
      JSON.stringify({ now: NOW_MS, headers: { 'Retry-After': '2' }, status: 429 }),
      JSON.stringify({ now: NOW_MS, headers: {} }),
      JSON.stringify({ now: NOW_MS, headers: { 'RateLimit-Remaining': ['7', '7'] } }),
    );
    expect(answers).toEqual([{ retryAfterMs: 2_000 }, {}, { remaining: 7 }]);
  });

  it('tells what headers say, not what is known of their vendor', async () => {
    const headers = {
      'x-ratelimit-remaining-requests': '7',
      'x-ratelimit-reset-requests': '120ms',
      'x-ratelimit-remaining-tokens': '90',
      'x-ratelimit-reset-tokens': '2s',
    };
    const answers = await run(JSON.stringify({ now: NOW_MS, headers }));
    expect(answers).toEqual([
      { remaining: 7, resetMs: 120, tokenRemaining: 90, tokenResetMs: 2_000 },
    ]);
  });

  it('takes hints and bodies', async () => {
    const answers = await run(
      JSON.stringify({
        now: NOW_MS,
        headers: { 'X-Rate-Limit-Reset': '600000' },
        hint: { resetUnit: 'ms' },
      }),
      JSON.stringify({
        now: NOW_MS,
        headers: {},
        body: { error: ['EService: Throttled: 1767225630'] },
      }),
    );
    expect(answers).toEqual([{ resetMs: 600_000 }, { retryAfterMs: 30_000 }]);
  });

  it('tells a bad line on its own line, and goes on', async () => {
    const answers = await run(
      '{"now": 1',
      '[]',
      'null',
      '',
      '{"headers": {}}',
      '{"now": "1", "headers": {}}',
      '{"now": -1, "headers": {}}',
      '{"now": 1, "headers": ["a"]}',
      '{"now": 1, "headers": {}, "hint": "ms"}',
      JSON.stringify({ now: NOW_MS, headers: { 'Retry-After': '2' } }),
    );
    const errors = answers.slice(0, -1);
    expect(errors).toHaveLength(9);
    for (const error of errors) expect(error).toEqual({ error: expect.any(String) });
    expect(answers.at(-1)).toEqual({ retryAfterMs: 2_000 });
  });

  it('reads over header values that are no text', async () => {
    const headers = { 'Retry-After': null, 'RateLimit-Limit': { a: 1 }, 'RateLimit-Reset': 5 };
    expect(await run(JSON.stringify({ now: NOW_MS, headers }))).toEqual([{ resetMs: 5_000 }]);
  });
});
