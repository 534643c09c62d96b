import { expect, test } from 'vitest';
import { FailedLogins } from '../../src/access/failed_logins.ts';
import { T0 } from '../support/pools.ts';

const crowd = (at: number) =>
  `2001:db8:${(at >> 16).toString(16)}:${(at & 0xffff).toString(16)}::1`;

test('FailedLogins turns an address away after five failures a minute', () => {
  const logins = new FailedLogins();
  for (let at = 0; at < 5; at++) {
    expect(logins.waitMs('10.0.0.1', T0 + at)).toBe(0);
    logins.note('10.0.0.1', T0 + at);
  }
  expect(logins.waitMs('10.0.0.1', T0 + 5)).toBe(59_995);
  expect(logins.waitMs('10.0.0.2', T0 + 5)).toBe(0);
  expect(logins.waitMs('10.0.0.1', T0 + 59_999)).toBe(1);
  expect(logins.waitMs('10.0.0.1', T0 + 60_000)).toBe(0);
});

test('FailedLogins remembers ten thousand addresses, and shuts nobody out beyond them', () => {
  const logins = new FailedLogins();
  for (let at = 0; at < 5; at++) logins.note('10.0.0.1', T0);
  for (let at = 0; at < 9_999; at++) logins.note(crowd(at), T0);
  expect(logins.waitMs('10.0.0.1', T0)).toBe(60_000);
  // Who failed last is not the first to be forgotten.
  logins.note('10.0.0.1', T0);
  for (let at = 9_999; at < 10_050; at++) logins.note(crowd(at), T0);
  expect(logins.waitMs('10.0.0.1', T0)).toBe(60_000);
  expect(logins.waitMs('10.9.9.9', T0)).toBe(0);
  expect(logins.size).toBe(10_000);
});
