/**
 * The life of slots and waiters by the contract: terms, renewals, reclaims, the line, changed
 * limits, and who is served when somebody leaves.
 */
import { describe, expect, it } from 'vitest';
import { Bench } from '../support/bench.ts';
import { settings, T0 } from '../support/pools.ts';

const one = settings({ limit: 1 });

describe('a lease', () => {
  it('lasts one term, no ms less', () => {
    const bench = new Bench();
    const lease = bench.hold();
    expect(lease.dueAtMs).toBe(T0 + 100);
    expect(lease.requestDeadlineMs).toBe(T0 + 250);
    bench.pass(99);
    expect(lease.isLive).toBe(true);
    expect(bench.lapsed).toEqual([]);
    bench.pass(1);
    expect(bench.lapsed).toEqual([lease]);
    expect(bench.ended).toEqual([lease]);
    expect(bench.pool.inUse).toBe(0);
  });

  it('ends at the request deadline where that comes before the term', () => {
    const bench = new Bench(settings({ termMs: 100, requestTimeoutMs: 40 }));
    const lease = bench.hold();
    expect(lease.dueAtMs).toBe(T0 + 40);
    expect(bench.renew(lease)).toBe('capped');
    bench.pass(40);
    expect(lease.isLive).toBe(false);
  });

  it('keeps the term it was granted with when the pool gets another', () => {
    const bench = new Bench();
    const lease = bench.hold();
    bench.configure(settings({ termMs: 10, requestTimeoutMs: 20 }));
    bench.pass(50);
    expect(bench.renew(lease)).toBe('renewed');
    expect(lease.dueAtMs).toBe(T0 + 150);
  });

  it('has a fence above that of every grant before it', () => {
    const bench = new Bench();
    const fences = [bench.hold(), bench.hold()].map(({ fence }) => fence);
    bench.pass(500);
    fences.push(bench.hold().fence);
    expect(fences).toEqual([T0 * 1000, T0 * 1000 + 1, (T0 + 500) * 1000]);
  });

  it('of a proxied request has no deadline of its own', () => {
    const bench = new Bench();
    const lease = bench.hold(1, { door: 'proxy' });
    bench.pass(1_000_000);
    expect(lease.isLive).toBe(true);
    expect(bench.release(lease)).toBe(true);
  });
});

describe('renew', () => {
  it('gives a whole term from now, never past the request deadline', () => {
    const bench = new Bench();
    const lease = bench.hold();
    bench.pass(60);
    expect(bench.renew(lease)).toBe('renewed');
    expect(lease.dueAtMs).toBe(T0 + 160);
    bench.pass(95);
    expect(bench.renew(lease)).toBe('renewed');
    expect(lease.dueAtMs).toBe(T0 + 250);
    expect(lease.renewals).toBe(2);
  });

  it('is capped once the lease ends at the request deadline, and changes nothing', () => {
    const bench = new Bench();
    const lease = bench.hold();
    for (const ms of [90, 90]) {
      bench.pass(ms);
      bench.renew(lease);
    }
    expect(bench.renew(lease)).toBe('capped');
    expect(lease.dueAtMs).toBe(T0 + 250);
    bench.pass(69);
    expect(lease.isLive).toBe(true);
    bench.pass(1);
    expect(lease.isLive).toBe(false);
  });

  it('finds nothing once the slot was released or reclaimed, and brings nothing back', () => {
    const bench = new Bench();
    const [released, lapsed] = [bench.hold(), bench.hold()];
    bench.release(released);
    bench.pass(100);
    expect(bench.renew(released)).toBe('gone');
    expect(bench.renew(lapsed)).toBe('gone');
    expect(bench.pool.inUse).toBe(0);
  });

  it('finds nothing by another pool', () => {
    const bench = new Bench();
    const { slotId } = bench.hold();
    const other = bench.bouncer.create(T0, 'b', { settings: one });
    expect(bench.bouncer.renew(T0, other, slotId).kind).toBe('gone');
  });
});

describe('release', () => {
  it('ends one lease once, by its id; another by any other id stays', () => {
    const bench = new Bench();
    const [mine, other] = [bench.hold(), bench.hold()];
    expect(bench.release(mine)).toBe(true);
    for (let again = 0; again < 5; again++) expect(bench.release(mine)).toBe(false);
    expect(bench.pool.inUse).toBe(1);
    expect(other.isLive).toBe(true);
    expect(bench.ended).toEqual([mine]);
  });

  it('too late frees nothing of whoever got the slot since', () => {
    const bench = new Bench(one);
    const late = bench.hold();
    const waiter = bench.wait();
    bench.pass(100);
    expect(bench.fate(waiter)).toBe('granted');
    expect(bench.release(late)).toBe(false);
    expect(bench.pool.inUse).toBe(1);
  });
});

describe('the line', () => {
  it('is served in the order of arrival', () => {
    const bench = new Bench(one);
    let held = bench.hold();
    const line = [bench.wait(), bench.wait(), bench.wait()];
    for (const waiter of line) {
      bench.release(held);
      const settlement = bench.settled.get(waiter);
      if (settlement?.kind !== 'granted') throw new Error('wanted a grant');
      held = settlement.lease;
      expect(bench.settled.size).toBe(line.indexOf(waiter) + 1);
    }
  });

  it('gets a reclaimed slot in the very step of the reclaim', () => {
    const bench = new Bench(one);
    bench.hold();
    const waiter = bench.wait();
    bench.pass(100);
    expect(bench.settled.get(waiter)).toMatchObject({
      kind: 'granted',
      lease: { grantedAtMs: T0 + 100, dueAtMs: T0 + 200, requestDeadlineMs: T0 + 350 },
    });
  });

  it('stands behind a wide head, and nobody passes it', () => {
    const bench = new Bench(settings({ limit: 3 }));
    const held = [bench.hold(), bench.hold(), bench.hold()];
    const wide = bench.wait(1000, { slots: 3 });
    const small = bench.wait();
    for (const lease of held.slice(0, 2)) bench.release(lease);
    expect(bench.settled.size).toBe(0);
    bench.release(held[2] as typeof held[0] & object);
    expect(bench.fate(wide)).toBe('granted');
    expect(bench.fate(small)).toBeNull();
    expect(bench.pool.inUse).toBe(3);
  });

  it('ends a wait with its budget, no ms before', () => {
    const bench = new Bench(settings({ limit: 1, termMs: 5000, requestTimeoutMs: 9000 }));
    bench.hold();
    const waiter = bench.wait(30);
    bench.pass(29);
    expect(bench.fate(waiter)).toBeNull();
    bench.pass(1);
    expect(bench.settled.get(waiter)).toEqual({
      kind: 'timed_out',
      gauge: { limit: 1, remaining: 0, queued: 0, rate: null },
    });
  });

  it('serves the next when the budget of a wide head ends', () => {
    const bench = new Bench();
    bench.hold();
    const wide = bench.wait(30, { slots: 2 });
    const small = bench.wait(90);
    bench.pass(30);
    expect(bench.fate(wide)).toBe('timed_out');
    expect(bench.fate(small)).toBe('granted');
  });
});

describe('withdraw', () => {
  it('of a wide head serves the next at once', () => {
    const bench = new Bench();
    bench.hold();
    const wide = bench.wait(1000, { slots: 2 });
    const small = bench.wait();
    bench.bouncer.withdraw(bench.nowMs, wide);
    expect(bench.fate(small)).toBe('granted');
    expect(bench.settled.has(wide)).toBe(false);
  });

  it('leaves nothing behind: no place, no due time, no later grant', () => {
    const bench = new Bench(one);
    const held = bench.hold();
    const line = [bench.wait(), bench.wait()];
    for (const waiter of line) bench.bouncer.withdraw(bench.nowMs, waiter);
    expect(bench.pool.queue.length).toBe(0);
    bench.release(held);
    expect(bench.bouncer.dueAtMs).toBe(Infinity);
    expect(bench.settled.size).toBe(0);
    expect(bench.pool.inUse).toBe(0);
  });

  it('does nothing once the waiter was settled', () => {
    const bench = new Bench(one);
    const held = bench.hold();
    const waiter = bench.wait();
    bench.release(held);
    bench.bouncer.withdraw(bench.nowMs, waiter);
    expect(bench.pool.inUse).toBe(1);
  });
});
