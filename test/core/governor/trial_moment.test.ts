import { expect, test } from 'vitest';
import { TrialMoment } from '../../../src/core/governor/trial_moment.ts';
import { T0 } from './fixtures.ts';

test('none comes where none is wanted, or no longer', () => {
  const moment = new TrialMoment();
  moment.started(T0);
  expect(moment.atMs).toBe(Infinity);
  moment.want(T0, 10);
  moment.drop();
  expect(moment.atMs).toBe(Infinity);
});

test('it comes a distance after the last start, and at once where starts keep none', () => {
  const moment = new TrialMoment();
  moment.want(T0, 99.5);
  expect(moment.atMs).toBe(T0 + 100);
  moment.started(T0 + 60);
  expect(moment.atMs).toBe(T0 + 160);
  moment.want(T0 + 70, 5);
  expect(moment.atMs).toBe(T0 + 160);
  moment.drop();
  moment.want(T0 + 80, 0);
  expect(moment.atMs).toBe(T0 + 80);
});

test('where calls start without end it comes after eight distances nonetheless', () => {
  const moment = new TrialMoment();
  moment.want(T0, 1);
  for (let ms = 0; ms <= 8; ms += 1) moment.started(T0 + ms);
  expect(moment.atMs).toBe(T0 + 8);
});

test('long calls: it is never further than 30 s from the last start', () => {
  const moment = new TrialMoment();
  moment.want(T0, 600_000);
  expect(moment.atMs).toBe(T0 + 30_000);
});
