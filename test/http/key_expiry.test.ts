/** A key that expires while somebody waits by it ends the wait as a revoked one does. */
import { beforeEach, expect, it } from 'vitest';
import { Caller, Door, fixed, pass } from './door.ts';

let door: Door;
let waiter: Caller;

beforeEach(async () => {
  door = await Door.open();
  const holder = await door.pool('a', fixed(1));
  await holder.hold();
  const expiresAt = door.clock.nowMs() + 1500;
  const { json } = await door.admin('POST', '/pools/a/keys', { name: 'k', expiresAt });
  waiter = new Caller(door, 'a', String(json['key']));
});

it('is told to the waiter and in the log, at its instant', async () => {
  const told = await waiter.wait({ waitMs: 10_000 });
  await pass(door, 1499);
  expect(told.answer).toBeNull();
  await pass(door, 1);
  expect(told.answer).toMatchObject({ status: 401, json: { error: 'unauthorized' } });
  const { json } = await door.admin('GET', '/pools/a/log?limit=1');
  expect(json['entries']).toMatchObject([{
    outcome: 'unauthorized',
    status: 401,
    reason: 'key: revoked or expired',
    queuedMs: 1500,
  }]);
});

it('is told to whoever repeats the acquire, too', async () => {
  const headers = { 'idempotency-key': 'once' };
  const first = await waiter.wait({ waitMs: 10_000 }, { headers });
  await pass(door, 500);
  const again = await waiter.wait({ waitMs: 10_000 }, { headers });
  await pass(door, 1000);
  expect([first, again].map(({ answer }) => answer?.status)).toEqual([401, 401]);
});

it('that comes after the end of the wait changes nothing', async () => {
  const told = await waiter.wait({ waitMs: 1000 });
  await pass(door, 1000);
  expect(told.answer).toMatchObject({ status: 504, json: { error: 'queue_timeout' } });
});
