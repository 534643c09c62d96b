import { expect, test } from 'vitest';
import { type Surprise, Surprises } from '../../../src/core/governor/surprises.ts';

/** Refused after five seconds in which few calls succeeded: no level was carried. */
function refusal(level: number, told: Partial<Surprise> = {}): Surprise {
  return { level, pauseMs: 1000, carriedMs: 5000, calls: level, ...told };
}

test('a level that was refused soon after is stopped short of, until it is proven', () => {
  const surprises = new Surprises();
  expect(surprises.refused(refusal(20))).toBeNull();
  expect(surprises.ceilingAbove(17)).toBe(20);
  expect(surprises.ceilingAbove(20)).toBe(Infinity);
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
});

test('what costs no pause, or next to none of the time, is not remembered', () => {
  const surprises = new Surprises();
  surprises.refused(refusal(20, { pauseMs: 0 }));
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
  surprises.refused(refusal(20, { carriedMs: 30_001 }));
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
  surprises.refused(refusal(20, { carriedMs: 30_000 }));
  expect(surprises.ceilingAbove(17)).toBe(20);
});

test('the third level that was carried and refused nonetheless: back to the first of them', () => {
  const surprises = new Surprises();
  const stands = [20, 17, 14, 20, 21, 20].map((level) => {
    return surprises.refused(refusal(level, { calls: 4 * level }));
  });
  expect(stands).toEqual([null, null, 20, 20, 21, 21]);
  expect(surprises.ceilingAbove(1)).toBe(Infinity);
});

test('a level that was refused early, or no lower than the one before, begins anew', () => {
  const carried = (level: number) => refusal(level, { calls: 4 * level });
  for (const other of [refusal(14), refusal(14, { calls: 56, carriedMs: 2999 }), carried(17)]) {
    const surprises = new Surprises();
    const stands = [20, 17].map((level) => surprises.refused(carried(level)));
    stands.push(surprises.refused(other));
    stands.push(...[12, 10].map((level) => surprises.refused(carried(level))));
    expect(stands).toEqual([null, null, null, null, null]);
    expect(surprises.refused(carried(8))).toBe(12);
  }
});
