/** What the answer to an acquire tells of its lease, where it is no longer as it was asked for. */
import { beforeEach, describe, expect, it } from 'vitest';
import { T0 } from '../support/pools.ts';
import { type Answer, type Caller, Door, fixed, pass, soon } from './door.ts';

const AGAIN = { headers: { 'idempotency-key': 'r' } };

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2, { queue: { maxDepth: 2, timeoutMs: 5_000 } }));
});

const change = (lease: object) => door.admin('PATCH', '/pools/a', { lease });

describe('the interval', () => {
  const told = ({ json }: Answer) => [json['termMs'], json['renewIntervalMs']];

  it('goes with the term of the grant, which a waiter may get under another', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const waiter = await caller.wait({ waitMs: 5000 });
    await change({ termMs: 3000 });
    await caller.release(slotId);
    await soon(door);
    expect(told(waiter.answer as Answer)).toEqual([3000, 1000]);
  });

  it('stays below the term of a lease that a repeat tells of', async () => {
    await change({ termMs: 3000, renewIntervalMs: 1500 });
    expect(told(await caller.acquire(undefined, AGAIN))).toEqual([3000, 1500]);
    await change({ termMs: 60_000, renewIntervalMs: 59_000 });
    expect(told(await caller.acquire(undefined, AGAIN))).toEqual([3000, 2950]);
    await change({ renewIntervalMs: 1 });
    expect(told(await caller.acquire(undefined, AGAIN))).toEqual([3000, 1]);
  });
});

describe('the deadline', () => {
  it('that a repeat tells is that of the lease as it is now', async () => {
    const deadline = ({ json, headers }: Answer) => {
      const lifeMs = headers.get('x-nthpool-lease-ms');
      return [Number(json['leaseDeadline']) - T0, lifeMs];
    };
    const first = await caller.acquire(undefined, AGAIN);
    expect(deadline(first)).toEqual([30_000, null]);
    await pass(door, 10_000);
    expect(deadline(await caller.acquire(undefined, AGAIN))).toEqual([30_000, null]);
    await caller.renew(String(first.json['slotId']));
    await pass(door, 25_000);
    expect(deadline(await caller.acquire(undefined, AGAIN))).toEqual([40_000, '60000']);
    await caller.renew(String(first.json['slotId']));
    const last = await caller.acquire(undefined, AGAIN);
    expect(deadline(last)).toEqual([60_000, '60000']);
    expect(last.json['slotId']).toBe(first.json['slotId']);
  });
});
