/**
 * The host of the core: one timer for all that is due, waits as promises, callers that are gone,
 * restarts, a wall clock that jumps, and the drain.
 */
import { describe, expect, it, vi } from 'vitest';
import { settings, T0 } from '../support/pools.ts';
import { presenceOf } from '../support/presence.ts';
import { answer, leaseOf, Rig } from '../support/rig.ts';

const one = settings({ limit: 1 });

describe('Scheduler.acquire', () => {
  it('waits in line and says how long it took', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    await rig.clock.pass(40);
    expect(answer(waiter)).toBeNull();
    rig.release(held);
    await rig.clock.pass(0);
    expect(waiter.verdict).toMatchObject({ kind: 'granted', queuedMs: 40 });
    expect(leaseOf(waiter).dueAtMs).toBe(T0 + 140);
  });

  it('reclaims a slot at its deadline by itself, and gives it to who waits', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    await rig.clock.pass(99);
    expect(answer(waiter)).toBeNull();
    expect(rig.lapsed).toEqual([]);
    await rig.clock.pass(1);
    expect(answer(waiter)).toBe('granted');
    expect(rig.lapsed).toEqual([held]);
  });

  it('ends a wait with its budget', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 5000, requestTimeoutMs: 9000 }) });
    await rig.hold();
    const waiter = rig.acquire({ waitMs: 70 });
    await rig.clock.pass(70);
    expect(waiter.verdict).toMatchObject({ code: 'queue_timeout', queuedMs: 70 });
    expect(rig.pool.queue.length).toBe(0);
  });

  it('tells each refusal with its attempt, and the log has the same', async () => {
    const rig = new Rig({ pool: one });
    await rig.hold();
    const full = rig.acquire();
    const wide = rig.acquire({ slots: 2 });
    await rig.clock.pass(250);
    expect(full.verdict).toMatchObject({ code: 'too_many_requests', reason: 'full' });
    expect(wide.verdict).toMatchObject({ code: 'invalid_request', slotsMax: 1 });
    const attempts = [full, wide].map(({ verdict }) =>
      verdict?.kind === 'refused' ? verdict.attempt : null
    );
    expect(rig.store.entries.slice(1)).toMatchObject([
      { id: attempts[0], outcome: 'too_many_requests', status: 429, reason: 'full' },
      { id: attempts[1], outcome: 'invalid_request', status: 400, slots: 2 },
    ]);
  });

  it('gives every attempt an id of its own that never comes again', async () => {
    const rig = new Rig();
    const told = Array.from({ length: 20 }, () => rig.acquire());
    await rig.clock.pass(250);
    expect(new Set(rig.store.entries.map(({ id }) => id)).size).toBe(told.length);
  });

  it('judges what is due first, however late the timer is', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    rig.clock.stall(100);
    expect(rig.renew(held)).toBe('gone');
    const next = await rig.hold();
    expect(rig.release(held)).toBe(false);
    expect(next.isLive).toBe(true);
  });
});

describe('a caller that is gone', () => {
  it('leaves the line at once, and the next is served in its place', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const [gone, next] = [rig.acquire({ waitMs: 500 }), rig.acquire({ waitMs: 500 })];
    gone.caller.abort();
    expect(rig.pool.queue.length).toBe(1);
    rig.release(held);
    await rig.clock.pass(0);
    expect(answer(next)).toBe('granted');
    expect(rig.store.entries.map(({ outcome, status }) => ({ outcome, status }))).toEqual([
      { outcome: 'granted', status: 200 },
      { outcome: 'client_gone', status: null },
      { outcome: 'granted', status: 200 },
    ]);
  });

  it('before it could wait takes no place', async () => {
    const rig = new Rig({ pool: one });
    await rig.hold();
    const presence = presenceOf(AbortSignal.abort());
    const told = rig.acquire({ waitMs: 500, presence });
    await rig.clock.settle();
    expect(answer(told)).toBe('queue_timeout');
    expect(rig.pool.queue.length).toBe(0);
  });

  it('in the ms in which its slot comes due takes none with it', async () => {
    const rig = new Rig({ pool: one });
    await rig.hold();
    const [gone, next] = [rig.acquire({ waitMs: 500 }), rig.acquire({ waitMs: 500 })];
    rig.clock.stall(100);
    gone.caller.abort();
    // The grant came first, and is given back before it is told.
    await rig.clock.pass(0);
    expect(answer(gone)).toBe('queue_timeout');
    expect(answer(next)).toBe('granted');
    expect(rig.pool.inUse).toBe(1);
  });

  it('is listened for only while it waits', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    rig.acquire({ waitMs: 500, presence: presenceOf(signal) });
    rig.release(held);
    await rig.clock.settle();
    expect(added.mock.calls.length).toBe(1);
    expect(removed.mock.calls).toEqual(added.mock.calls);
  });

  it('between its grant and its answer keeps no slot', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    rig.release(held);
    await rig.clock.settle();
    expect(answer(waiter)).toBeNull();
    waiter.caller.abort();
    await rig.clock.pass(0);
    expect(answer(waiter)).toBe('queue_timeout');
    expect(rig.pool.inUse).toBe(0);
  });

  it.each([0, 500])(
    'while its grant is written keeps no slot, asking to wait %i ms',
    async (waitMs) => {
      const rig = new Rig({ pool: one });
      rig.store.hold();
      const [gone, next] = [rig.acquire({ waitMs }), rig.acquire({ waitMs: 500 })];
      await rig.clock.settle();
      gone.caller.abort();
      rig.store.letGo();
      await rig.clock.pass(0);
      expect([gone, next].map(answer)).toEqual(['queue_timeout', 'granted']);
      expect(rig.pool.inUse).toBe(1);
      expect(rig.store.entries).toMatchObject([{ outcome: 'granted', status: 200 }, {}]);
      const { granted, refusals } = rig.scheduler.log.tally.of('a');
      expect([granted, [...refusals]]).toEqual([1, [['client_gone', 1]]]);
    },
  );

  it('that does not wait is looked for without its signal', async () => {
    const rig = new Rig({ pool: one });
    const presence = {
      isGone: false,
      get signal(): AbortSignal {
        throw new Error('touched');
      },
    };
    const told = rig.acquire({ waitMs: 500, presence });
    await rig.clock.settle();
    expect(answer(told)).toBe('granted');
  });

  it('after its answer changes nothing', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    rig.release(held);
    await rig.clock.pass(0);
    waiter.caller.abort();
    await rig.clock.pass(50);
    expect(leaseOf(waiter).isLive).toBe(true);
    expect(rig.renew(leaseOf(waiter))).toBe('renewed');
  });
});

describe('drain', () => {
  it('refuses who waits and who comes, and lets holders renew and release', async () => {
    const rig = new Rig();
    const [kept, freed] = [await rig.hold(), await rig.hold()];
    const waiter = rig.acquire({ waitMs: 500 });
    await rig.clock.pass(30);
    rig.scheduler.drain();
    await rig.clock.settle();
    expect(waiter.verdict).toMatchObject({ code: 'shutting_down', queuedMs: 30 });
    expect(rig.renew(kept)).toBe('renewed');
    expect(rig.release(freed)).toBe(true);
    const late = rig.acquire();
    await rig.clock.settle();
    expect(answer(late)).toBe('shutting_down');
    expect(rig.pool.inUse).toBe(1);
    await Promise.all([rig.scheduler.journal.settled(), rig.clock.settle()]);
    expect([...rig.store.leases.keys()]).toEqual([kept.slotId]);
  });

  it('admits no proxied caller in the place of a wide lock caller that it refuses', async () => {
    const rig = new Rig();
    await rig.hold();
    const wide = rig.acquire({ waitMs: 500, slots: 2 });
    const proxied = rig.acquire({ waitMs: 500, door: 'proxy' });
    rig.scheduler.drain();
    await rig.clock.pass(0);
    expect([wide, proxied].map(answer)).toEqual(['shutting_down', 'shutting_down']);
    expect(rig.pool.inUse).toBe(1);
  });

  it('admits nobody when the store recovers', async () => {
    const rig = new Rig();
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.settle();
    rig.scheduler.drain();
    rig.store.trouble = null;
    await rig.clock.pass(500);
    const late = rig.acquire({ waitMs: 500 });
    await rig.clock.settle();
    expect(answer(late)).toBe('shutting_down');
  });
});

describe('dismiss', () => {
  it('refuses those who are meant, and leaves the others their place', async () => {
    const rig = new Rig({ pool: one });
    const held = await rig.hold();
    const [meant, other] = ['key 1', 'key 2'].map((keyId) => rig.acquire({ waitMs: 500, keyId }));
    rig.scheduler.dismiss(({ keyId }) => keyId === 'key 1' ? { code: 'unauthorized' } : null);
    rig.release(held);
    await rig.clock.pass(0);
    expect([meant, other].map((told) => told && answer(told))).toEqual(['unauthorized', 'granted']);
  });
});

describe('turn', () => {
  it('tells the process of a broken invariant', () => {
    const rig = new Rig();
    const how = { settings: settings() };
    const again = () => rig.scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, 'a', how));
    expect(again).toThrow('broken invariant: a pool is made once');
    expect(rig.heard).toEqual(['broken: InvariantError: broken invariant: a pool is made once']);
  });
});
