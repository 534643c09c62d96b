import { expect, test } from 'vitest';
import { Surprises } from '../../../src/core/governor/surprises.ts';

test('a level that was refused soon after is stopped short of, until it is proven', () => {
  const surprises = new Surprises();
  surprises.note(20, 1000, 5000);
  expect(surprises.ceilingAbove(17)).toBe(20);
  expect(surprises.ceilingAbove(20)).toBe(Infinity);
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
});

test('what costs no pause, or next to none of the time, is not remembered', () => {
  const surprises = new Surprises();
  surprises.note(20, 0, 5000);
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
  surprises.note(20, 1000, 30_001);
  expect(surprises.ceilingAbove(17)).toBe(Infinity);
  surprises.note(20, 1000, 30_000);
  expect(surprises.ceilingAbove(17)).toBe(20);
});

test('levels refused each below the one before are no explanation in the end', () => {
  const surprises = new Surprises();
  const ceilings = [20, 19, 18, 17, 16, 15, 14, 13].map((level) => {
    surprises.note(level, 1000, 5000);
    return surprises.ceilingAbove(1);
  });
  expect(ceilings).toEqual([20, 19, 18, 17, 16, Infinity, 14, 13]);
});
