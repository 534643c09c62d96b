import { expect, test } from 'vitest';
import { Refill } from '../../../src/core/governor/refill.ts';

/** Judges cycles of so many starts a second while open, of which so many a second were accepted. */
function judged(...cycles: readonly (readonly [open: number, accepted: number])[]): string[] {
  const refill = new Refill();
  return cycles.map(([openPerSecond, perSecond]) => refill.judge({ openPerSecond, perSecond }));
}

test('a rate that refills the same whatever is asked for is one', () => {
  expect(judged([25, 10], [10, 9.8], [10.2, 10])).toEqual(['rate', 'rate', 'rate']);
});

test('where less is accepted as less is asked for, no lower rate helps', () => {
  expect(judged([30, 25], [25, 21])).toEqual(['rate', 'none']);
  // Near what it was before there is nothing new to learn; further down it is asked anew.
  expect(judged([30, 25], [25, 21], [30, 25], [29, 24], [26, 21.5]))
    .toEqual(['rate', 'none', 'nothing', 'nothing', 'none']);
});

test('a rate that falls is found, also after lower rates did not help', () => {
  expect(judged([10, 9.8], [9.8, 5])).toEqual(['rate', 'rate']);
  expect(judged([30, 25], [25, 21], [29, 12], [12, 12])).toEqual(['rate', 'none', 'rate', 'rate']);
});

test('what the last telling cycle was asked for is kept', () => {
  const refill = new Refill();
  expect(refill.openPerSecond).toBe(Infinity);
  refill.judge({ openPerSecond: 30, perSecond: 25 });
  refill.judge({ openPerSecond: 25, perSecond: 21 });
  expect(refill.openPerSecond).toBe(30);
});
