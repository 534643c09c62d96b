import { describe, expect, test } from 'vitest';
import { Blame, type Refusal } from '../../../src/core/governor/blame.ts';
import { T0 } from './fixtures.ts';

function refusal(changes: Partial<Refusal> = {}): Refusal {
  return {
    inFlight: 8,
    isAlone: false,
    reading: undefined,
    retryAfterMs: undefined,
    kind: 'auto',
    isRateLearned: false,
    trial: null,
    isRateBinding: false,
    canLower: true,
    isRepeated: false,
    isSurprise: false,
    level: 8,
    acceptedTotal: 0,
    ...changes,
  };
}

describe('Blame.judge', () => {
  test('the kind that the operator set wins over all else', () => {
    const reading = { remaining: 0, scope: 'requests' };
    const verdict = new Blame().judge(T0, refusal({ kind: 'concurrency', reading }));
    expect(verdict.about).toBe('concurrency');
    expect(new Blame().judge(T0, refusal({ kind: 'rate' })).about).toBe('rate');
  });

  test('the scope that the answer names wins over what was seen', () => {
    const about = (scope: string) => new Blame().judge(T0, refusal({ reading: { scope } })).about;
    expect(about('concurrent-requests')).toBe('concurrency');
    expect(about('tokens-per-minute')).toBe('rate');
    expect(about('account')).toBe('concurrency');
  });

  test('refused alone is unclear at first, and a rate the third time in a row', () => {
    const blame = new Blame();
    const alone = refusal({ isAlone: true, inFlight: 1 });
    expect(blame.judge(T0, alone).about).toBe('unclear');
    expect(blame.judge(T0 + 1, alone).about).toBe('unclear');
    expect(blame.judge(T0 + 2, alone).about).toBe('rate');
  });

  test.each([[1, 'rate'], [9, 'rate'], [10, 'unclear']])(
    'refused alone again and again, each after %d accepted calls, is %s',
    (accepted, about) => {
      const blame = new Blame();
      const alone = refusal({ isAlone: true, inFlight: 1 });
      let last = '';
      for (let refused = 0; refused < 20; refused += 1) {
        for (let call = 0; call < accepted; call += 1) blame.accepted(T0, 1, true);
        last = blame.judge(T0, alone).about;
      }
      expect(last).toBe(about);
    },
  );

  test('nothing left in the headers is a rate; a single long hint is not yet', () => {
    const empty = refusal({ reading: { limit: 100, remaining: 0 } });
    expect(new Blame().judge(T0, empty).about).toBe('rate');
    const blame = new Blame();
    const hinted = refusal({ retryAfterMs: 5000 });
    expect(blame.judge(T0, hinted).about).toBe('concurrency');
    expect(blame.judge(T0 + 1000, hinted).about).toBe('concurrency');
    expect(blame.judge(T0 + 2000, hinted).about).toBe('rate');
  });

  test('a cap that is probed now and then stays a cap for ever', () => {
    const blame = new Blame();
    for (let probe = 0; probe < 200; probe += 1) {
      for (let call = 0; call < 100; call += 1) blame.accepted(T0 + probe * 8000, 8, true);
      expect(blame.judge(T0 + probe * 8000, refusal()).about).toBe('concurrency');
    }
  });

  test('levels that were carried, refused again and again, are a rate in the end', () => {
    const blame = new Blame();
    const verdicts: string[] = [];
    for (let event = 0; event < 8; event += 1) {
      for (let call = 0; call < 15; call += 1) blame.accepted(T0 + event * 4000, 4, true);
      verdicts.push(blame.judge(T0 + event * 4000, refusal({ isSurprise: true })).about);
    }
    expect(verdicts.slice(0, 3)).toEqual(['concurrency', 'concurrency', 'concurrency']);
    expect(verdicts).toContain('rate');
  });

  test('a cap that falls far refuses many once, and stays a cap', () => {
    const blame = new Blame();
    const fallen = refusal({ inFlight: 40, level: 40, isSurprise: true });
    expect(blame.judge(T0, fallen).about).toBe('concurrency');
    for (let call = 0; call < 25; call += 1) blame.refusedAgain();
    expect(blame.judge(T0 + 100, { ...fallen, inFlight: 20 }).about).toBe('concurrency');
  });

  test('with a rate in force, what was raised last is at fault', () => {
    const paced = refusal({ isRateLearned: true, isRateBinding: true });
    expect(new Blame().judge(T0, { ...paced, trial: 'level' }).about).toBe('concurrency');
    expect(new Blame().judge(T0, { ...paced, trial: 'rate' }).about).toBe('rate');
    expect(new Blame().judge(T0, { ...paced, isRateBinding: false }).about).toBe('concurrency');
    expect(new Blame().judge(T0, { ...paced, canLower: false }).about).toBe('rate');
  });

  test('with a rate in force, as many as were carried lately are not too many', () => {
    const blame = new Blame();
    blame.accepted(T0, 10, true);
    const paced = refusal({ isRateLearned: true, isRateBinding: true });
    expect(blame.judge(T0, { ...paced, inFlight: 9 }).about).toBe('rate');
    expect(blame.judge(T0, { ...paced, inFlight: 11 }).about).toBe('concurrency');
  });

  test('a level that was just raised is at fault, whatever is asked to wait', () => {
    const blame = new Blame();
    const trial = refusal({ trial: 'level', retryAfterMs: 2000 });
    const verdicts = Array.from({ length: 9 }, (_, index) => blame.judge(T0 + index * 4000, trial));
    expect(verdicts.map(({ about }) => about)).toEqual(Array(9).fill('concurrency'));
    const reading = { remaining: 0 };
    expect(blame.judge(T0 + 40_000, { ...trial, reading }).about).toBe('rate');
  });

  test('long hints tell of a rate where most of the time is spent on them', () => {
    const judge = (spanMs: number) => {
      const blame = new Blame();
      const hinted = refusal({ retryAfterMs: 5000, level: 100 });
      return Array.from(
        { length: 5 },
        (_, index) => blame.judge(T0 + index * spanMs, hinted).about,
      );
    };
    expect(judge(6000)).toContain('rate');
    expect(judge(60_000)).not.toContain('rate');
  });
});
