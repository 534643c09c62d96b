/**
 * Write-through as callers see it: a grant is told after the flush that covers it or not at all,
 * and whatever the store does, no slot is held that nobody was told of.
 */
import { describe, expect, it } from 'vitest';
import { entry } from '../store/samples.ts';
import { settings, T0 } from '../support/pools.ts';
import { answer, leaseOf, Rig } from '../support/rig.ts';

/** Leases that outlive every trouble of these tests, unless said otherwise. */
const LONG = { termMs: 20_000, requestTimeoutMs: 50_000, timeoutMs: 5000 };
const long = settings(LONG);

describe('a grant', () => {
  it('is told after the flush that covers it, and not before', async () => {
    const rig = new Rig();
    rig.store.hold();
    const told = rig.acquire({ holder: 'me' });
    await rig.clock.settle();
    expect(answer(told)).toBeNull();
    expect(rig.store.tried).toHaveLength(1);
    rig.store.letGo();
    await rig.clock.settle();
    const { slotId, fence, attempt } = leaseOf(told);
    expect(rig.store.leases.get(slotId)).toEqual({
      slotId,
      pool: 'a',
      slots: 1,
      fence,
      attempt,
      keyId: 'key 1',
      holder: 'me',
      grantedAt: T0,
      termMs: 100,
      requestDeadline: T0 + 250,
      inFlight: 1,
      tokens: 0,
    });
    expect(rig.store.fence).toBe(fence);
    expect(rig.store.entries).toMatchObject([{ id: attempt, outcome: 'granted', status: 200 }]);
  });

  it('shares one flush with all that came with it', async () => {
    const rig = new Rig({ pool: settings({ limit: 5 }) });
    const told = Array.from({ length: 5 }, () => rig.acquire());
    await rig.clock.settle();
    expect(told.map(answer)).toEqual(Array(5).fill('granted'));
    expect(rig.store.tried).toHaveLength(1);
    expect(rig.store.tried[0]?.leases).toHaveLength(5);
  });

  it('that comes during a flush is covered by the next, and not told with this one', async () => {
    const rig = new Rig();
    rig.store.hold();
    const first = rig.acquire();
    await rig.clock.settle();
    const second = rig.acquire();
    await rig.clock.settle();
    expect(rig.store.tried).toHaveLength(1);
    rig.store.letGo();
    rig.store.hold();
    await rig.clock.settle();
    expect([first, second].map(answer)).toEqual(['granted', null]);
    rig.store.letGo();
    await rig.clock.settle();
    expect(answer(second)).toBe('granted');
    expect(rig.store.tried.map(({ leases }) => leases.length)).toEqual([1, 1]);
  });

  it('has its row in the log, however many were made during one flush', async () => {
    const rig = new Rig({ pool: settings({ ...LONG, limit: 12_000 }) });
    rig.store.hold();
    const first = rig.acquire();
    await rig.clock.settle();
    const rest = Array.from({ length: 11_000 }, () => rig.acquire());
    rig.store.letGo();
    await rig.clock.settle();
    expect([first, ...rest].every((told) => answer(told) === 'granted')).toBe(true);
    expect(rig.store.entries).toHaveLength(11_001);
  });

  it('to a proxied request is told at once, and leaves no row', async () => {
    const rig = new Rig();
    rig.store.hold();
    const told = rig.acquire({ door: 'proxy' });
    await rig.clock.settle();
    expect(answer(told)).toBe('granted');
    await rig.clock.pass(1000);
    expect(rig.store.tried).toEqual([]);
  });
});

describe('a release', () => {
  it('frees the slot at once, and its row within 250 ms', async () => {
    const rig = new Rig();
    const lease = await rig.hold();
    expect(rig.release(lease)).toBe(true);
    expect(rig.pool.inUse).toBe(0);
    expect(rig.store.leases.size).toBe(1);
    await rig.clock.pass(250);
    expect(rig.store.leases.size).toBe(0);
  });

  it('is durable with the next grant where that is sooner', async () => {
    const rig = new Rig();
    const lease = await rig.hold();
    rig.release(lease);
    const next = await rig.hold();
    expect([...rig.store.leases.keys()]).toEqual([next.slotId]);
  });

  it('during the flush of its own row still deletes the row', async () => {
    const rig = new Rig({ pool: long });
    const lease = await rig.hold();
    rig.store.hold();
    rig.scheduler.restamp();
    await rig.clock.pass(250);
    expect(rig.store.tried.at(-1)?.leases).toHaveLength(1);
    rig.release(lease);
    rig.store.letGo();
    await rig.clock.pass(250);
    expect(rig.store.leases.size).toBe(0);
  });

  it('of what was never flushed writes nothing of it', async () => {
    const rig = new Rig();
    rig.acquire();
    const [lease] = rig.pool.leases.values();
    if (lease === undefined) throw new Error('wanted a lease');
    rig.release(lease);
    await rig.clock.pass(250);
    expect(rig.store.tried.flatMap(({ leases, ended }) => [...leases, ...ended])).toEqual([]);
  });
});

describe('an entry that nobody waits for', () => {
  const log = (rig: Rig, ids: readonly number[]) => {
    for (const id of ids) rig.scheduler.journal.log(entry(String(id)));
  };

  it('is durable within 250 ms', async () => {
    const rig = new Rig();
    log(rig, [1]);
    await rig.clock.settle();
    expect(rig.store.entries).toHaveLength(0);
    await rig.clock.pass(250);
    expect(rig.store.entries).toHaveLength(1);
  });

  it('waits no longer where 250 are there, even where they came during a flush', async () => {
    const rig = new Rig();
    log(rig, Array.from({ length: 249 }, (_, at) => at));
    await rig.clock.settle();
    expect(rig.store.entries).toHaveLength(0);
    log(rig, [249]);
    rig.store.hold();
    await rig.clock.settle();
    log(rig, Array.from({ length: 250 }, (_, at) => 250 + at));
    rig.store.letGo();
    await rig.clock.settle();
    expect(rig.store.tried.map(({ entries }) => entries.length)).toEqual([250, 250]);
  });
});

describe('while a write hangs the journal', () => {
  it('keeps no more than 10 000 entries, but for those of grants that wait for it', async () => {
    const rig = new Rig({ pool: long });
    rig.store.hold();
    const first = rig.acquire();
    await rig.clock.settle();
    const second = rig.acquire();
    for (let each = 0; each < 12_000; each++) {
      rig.scheduler.journal.log(entry(`${each}`, { outcome: 'too_many_requests' }));
    }
    rig.store.letGo();
    await rig.clock.pass(250);
    expect(rig.store.entries.length).toBeLessThanOrEqual(10_002);
    const granted = rig.store.entries.filter(({ outcome }) => outcome === 'granted');
    expect(granted.map(({ id }) => id)).toEqual([first, second].map((one) => leaseOf(one).attempt));
  });
});

describe('settled', () => {
  it('resolves when all before it is durable', async () => {
    const rig = new Rig();
    const lease = await rig.hold();
    rig.release(lease);
    await Promise.all([rig.scheduler.journal.settled(), rig.clock.settle()]);
    expect(rig.store.leases.size).toBe(0);
  });

  it('resolves while the store fails', async () => {
    const rig = new Rig({ pool: long });
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.settle();
    await rig.scheduler.journal.settled();
    expect(rig.heard).toEqual(['failing']);
  });
});
