/**
 * The two headers that ask for a wait or forbid one, and which of them wins.
 */
import { describe, expect, it } from 'vitest';
import { waitOf } from '../../src/http/wait.ts';

const ASK = 'x-nthpool-queue-timeout-ms';
const NO = 'x-nthpool-no-queue';

function wait(headers: Record<string, string>, bodyMs?: number): number | 'bad' {
  const found = waitOf(new Headers(headers), bodyMs);
  return found.kind === 'bad' ? 'bad' : found.waitMs;
}

describe('waitOf', () => {
  it('is no wait where nothing asks for one, unless the door has a fallback', () => {
    expect(wait({})).toBe(0);
    expect(waitOf(new Headers(), undefined, 700)).toEqual({ kind: 'wait', waitMs: 700 });
  });

  it('takes the header, and the body before the header', () => {
    expect(wait({ [ASK]: '250' })).toBe(250);
    expect(wait({ [ASK]: '250' }, 90)).toBe(90);
    expect(wait({ [ASK]: '250' }, 0)).toBe(0);
    expect(wait({}, 90)).toBe(90);
  });

  it.each(['1', 'true', 'yes', '', 'no', '0.0', 'off'])(
    'does not wait by No-Queue: %j',
    (value) => {
      expect(wait({ [NO]: value })).toBe(0);
      expect(wait({ [NO]: value, [ASK]: '250' })).toBe(0);
      expect(wait({ [NO]: value }, 90)).toBe(0);
    },
  );

  it.each(['0', 'false', 'FALSE', 'False', ' 0 '])('waits in spite of No-Queue: %j', (value) => {
    expect(wait({ [NO]: value, [ASK]: '250' })).toBe(250);
    expect(wait({ [NO]: value }, 90)).toBe(90);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', 'soon', '5ms', '1,000', '1 000', 'Infinity', '5, 5'])(
    'refuses a wait of %j, even where it would not count',
    (value) => {
      expect(wait({ [ASK]: value })).toBe('bad');
      expect(wait({ [ASK]: value }, 90)).toBe('bad');
      expect(wait({ [ASK]: value, [NO]: '1' })).toBe('bad');
    },
  );

  it.each(['2147483647', '2147483648', '4294967295', '9999999000', '9007199254740993'])(
    'takes a wait of %s as the long wait that it is',
    (value) => expect(wait({ [ASK]: value })).toBeGreaterThanOrEqual(2_147_483_647),
  );

  it('takes a number too long for any clock as a wait without end', () => {
    expect(wait({ [ASK]: '9'.repeat(400) })).toBe(Infinity);
  });
});
