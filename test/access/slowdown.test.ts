import { describe, expect, test } from 'vitest';
import { Slowdown } from '../../src/access/slowdown.ts';
import { turn, World } from './support.ts';

describe('Slowdown', () => {
  const fail = (slowdown: Slowdown, times: number, address = '192.0.2.1', nowMs = 0) =>
    Array.from({ length: times }, () => slowdown.delayMs(address, nowMs)).at(-1);

  test('leaves the first two hundred alone, then spaces them, up to a bound', () => {
    const slowdown = new Slowdown();
    expect(fail(slowdown, 200)).toBe(0);
    expect(fail(slowdown, 1)).toBe(2);
    expect(fail(slowdown, 1)).toBe(4);
    expect(fail(slowdown, 1_000)).toBe(2_000);
    expect(fail(slowdown, 1, '192.0.2.2')).toBe(0);
  });

  test('forgives with time', () => {
    const slowdown = new Slowdown();
    fail(slowdown, 10_000);
    expect(fail(slowdown, 1, '192.0.2.1', 2_500)).toBe(0);
  });

  test('takes the network of an IPv6 address as one', () => {
    const slowdown = new Slowdown();
    for (let i = 0; i < 200; i++) slowdown.delayMs(`2001:db8::${i.toString(16)}`, 0);
    expect(slowdown.delayMs('2001:db8:0:0:ffff::1', 0)).toBe(2);
    expect(slowdown.delayMs('2001:db8:0:1::1', 0)).toBe(0);
    expect(slowdown.size).toBe(2);
  });

  test('remembers a bounded number of addresses', () => {
    const slowdown = new Slowdown();
    for (let i = 0; i < 20_000; i++) slowdown.delayMs(`10.0.${i >> 8}.${i & 255}`, 0);
    expect(slowdown.size).toBe(10_000);
  });

  test('does not slow a peer without an address', () => {
    const slowdown = new Slowdown();
    expect(Array.from({ length: 400 }, () => slowdown.delayMs(null, 0)).at(-1)).toBe(0);
  });
});

test('guesses wait, and a right caller of the same address does not', async () => {
  const world = await World.open();
  await world.makePool();
  const right = { 'x-nthpool-key': await world.makeKey() };
  const wrong = { 'x-nthpool-key': 'nb_live_guess' };
  for (let i = 0; i < 200; i++) expect(await world.status({ headers: wrong })).toBe(401);
  let answered = 0;
  const guesses = [world.ask({ headers: wrong }), world.ask({ headers: wrong, pool: 'unknown' })]
    .map((guess) => guess.then(({ status }) => (answered++, status)));
  await turn();
  expect(answered).toBe(0);
  expect(await world.status({ headers: right })).toBe(200);
  expect(await world.status({ headers: wrong, from: '192.0.2.1' })).toBe(401);
  await world.clock.pass(2);
  expect(answered).toBe(1);
  await world.clock.pass(2);
  expect(await Promise.all(guesses)).toEqual([401, 401]);
});

test('guesses of the admin token wait too, and the right one does not', async () => {
  const world = await World.open();
  const guess = () => world.call('/admin/api/pools', { headers: { authorization: 'Bearer x' } });
  for (let i = 0; i < 200; i++) expect((await guess()).status).toBe(401);
  let isAnswered = false;
  const waiting = guess().then(({ status }) => (isAnswered = true, status));
  await turn();
  expect(isAnswered).toBe(false);
  expect((await world.admin('GET', '/pools')).status).toBe(200);
  await world.clock.pass(2);
  expect(await waiting).toBe(401);
});
