import { expect, test } from 'vitest';
import { ProbeGap } from '../../../src/core/governor/probe_gap.ts';

test('each refused trial widens the time and the calls to the next, up to a bound', () => {
  const gap = new ProbeGap();
  const gaps = Array.from({ length: 7 }, () => {
    const told = [gap.msAt(40), gap.callsAfter(0), gap.callsAfter(60_000)];
    gap.widen();
    return told;
  });
  expect(gaps[0]).toEqual([3000, 15, 15]);
  expect(gaps[1]).toEqual([4500, 23, 23]);
  expect(gaps.at(-1)).toEqual([8000, 92, 40]);
  gap.reset();
  expect(gap.msAt(40)).toBe(3000);
});

test('where calls are slow the first trial needs fewer with time', () => {
  const gap = new ProbeGap();
  const minutes = [1, 2, 4, 60];
  expect(minutes.map((count) => gap.callsAfter(count * 60_000))).toEqual([15, 8, 4, 1]);
  gap.widen();
  expect(minutes.map((count) => gap.callsAfter(count * 60_000))).toEqual([23, 23, 23, 23]);
});

test('with few slots one more is tried sooner, but not at once', () => {
  const gap = new ProbeGap();
  for (let trial = 0; trial < 7; trial += 1) gap.widen();
  expect([1, 5, 8, 20].map((level) => gap.msAt(level))).toEqual([3000, 4500, 7200, 8000]);
});

test('what a refusal costs is waited for thirty times, but for what was proven before', () => {
  const gap = new ProbeGap();
  gap.refused(1000, () => 0);
  expect([gap.isCostly, gap.msAt(4)]).toEqual([true, 30_000]);
  gap.refused(60_000, () => 1);
  expect(gap.msAt(4)).toBe(390_000);
  gap.retry();
  expect(gap.msAt(4)).toBe(3900);
  gap.refused(0, () => 0);
  expect([gap.isCostly, gap.msAt(4)]).toEqual([false, 3000]);
});
