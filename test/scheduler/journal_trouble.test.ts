/**
 * What callers see of a store that fails, is in doubt, is locked or lost: clean refusals, no slot
 * held for them, and a recovery by itself.
 */
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../src/store/entry.ts';
import { settings, T0 } from '../support/pools.ts';
import { answer, leaseOf, Rig } from '../support/rig.ts';

/** Leases that outlive every trouble of these tests. */
const LONG = { termMs: 20_000, requestTimeoutMs: 50_000, timeoutMs: 5000 };
const long = settings(LONG);

const REFUSAL: LogEntry = {
  id: '',
  at: T0,
  pool: 'a',
  kind: 'lock',
  outcome: 'too_many_requests',
  status: 429,
  reason: 'full',
  queuedMs: 0,
  slots: 1,
  keyId: null,
  address: null,
  holder: null,
};

describe('what is counted', () => {
  /** Grants, refusals by outcome, and waits. */
  function counts({ scheduler }: Rig) {
    const { granted, refusals, waits } = scheduler.log.tally.of('a');
    return [granted, Object.fromEntries(refusals), waits.count];
  }

  it('is a grant once it is told: no count goes down where its flush fails', async () => {
    const rig = new Rig({ pool: long });
    rig.store.hold();
    rig.acquire();
    await rig.clock.settle();
    expect(counts(rig)).toEqual([0, {}, 0]);
    rig.store.trouble = 'failed';
    rig.store.letGo();
    await rig.clock.settle();
    expect(counts(rig)).toEqual([0, { storage_unavailable: 1 }, 1]);
    rig.store.trouble = null;
    await rig.clock.pass(500);
    await rig.hold();
    expect(counts(rig)).toEqual([1, { storage_unavailable: 1 }, 2]);
  });

  it('is no grant where its lease ended, or its caller was gone, before it was told', async () => {
    const rig = new Rig({ pool: settings({ ...LONG, limit: 1 }) });
    const held = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    rig.release(held);
    await rig.clock.settle();
    waiter.caller.abort();
    await rig.clock.pass(0);
    expect(counts(rig)).toEqual([1, { client_gone: 1 }, 2]);
    rig.store.hold();
    rig.acquire();
    await rig.clock.settle();
    rig.clock.stall(LONG.termMs);
    rig.store.letGo();
    await rig.clock.settle();
    expect(counts(rig)).toEqual([1, { client_gone: 1, storage_unavailable: 1 }, 3]);
  });
});

describe('a lease that ends while it is written down', () => {
  it.each([
    ['taken back', (rig: Rig) => {
      const [lease] = [...rig.pool.leases.values()];
      rig.release(lease!);
    }],
    ['lapsed', (rig: Rig) => rig.clock.stall(LONG.termMs)],
  ])('is told to nobody: %s', async (_, end) => {
    const rig = new Rig({ pool: settings({ ...LONG, limit: 1 }) });
    rig.store.hold();
    const told = rig.acquire();
    await rig.clock.settle();
    end(rig);
    rig.store.letGo();
    await rig.clock.settle();
    expect(told.verdict).toMatchObject({ gauge: { remaining: 1, limit: 1 } });
    const next = rig.acquire();
    await rig.clock.settle();
    expect([told, next].map(answer)).toEqual(['storage_unavailable', 'granted']);
    await rig.clock.pass(250);
    expect(rig.store.entries.map(({ outcome }) => outcome)).toEqual(['granted', 'granted']);
  });

  it('with its pool answers as if the pool had never been, were it made anew too', async () => {
    const rig = new Rig({ pool: long });
    rig.store.hold();
    const told = rig.acquire();
    await rig.clock.settle();
    rig.scheduler.turn((nowMs, bouncer) => {
      bouncer.remove(nowMs, 'a');
      bouncer.create(nowMs, 'a', { settings: long });
    });
    rig.store.letGo();
    await rig.clock.settle();
    expect(answer(told)).toBe('unauthorized');
  });
});

describe('a flush that fails', () => {
  it('answers storage_unavailable, releases its grants and logs none of them', async () => {
    const rig = new Rig({ pool: long });
    const heard: string[] = [];
    rig.scheduler.log.heard = ({ outcome }) => heard.push(outcome);
    rig.store.trouble = 'failed';
    const told = rig.acquire();
    await rig.clock.settle();
    expect(answer(told)).toBe('storage_unavailable');
    expect(rig.pool.inUse).toBe(0);
    expect(told.verdict).toMatchObject({ gauge: { remaining: 2, limit: 2 } });
    expect(rig.heard).toEqual(['failing']);
    rig.store.trouble = null;
    await rig.clock.pass(500);
    expect(rig.store.leases.size).toBe(0);
    expect(rig.store.entries.map(({ outcome }) => outcome)).toEqual(['storage_unavailable']);
    expect(heard).toEqual(['storage_unavailable']);
    await rig.hold();
    expect(heard).toEqual(['storage_unavailable', 'granted']);
  });

  it('in doubt has its rows deleted by the next', async () => {
    const rig = new Rig({ pool: long });
    rig.store.trouble = 'in doubt';
    const told = rig.acquire();
    await rig.clock.settle();
    expect(answer(told)).toBe('storage_unavailable');
    expect(rig.store.leases.size).toBe(1);
    rig.store.trouble = null;
    await rig.clock.pass(250);
    expect(rig.store.leases.size).toBe(0);
  });

  it('fails those too that were granted while it was under way', async () => {
    const rig = new Rig({ pool: long });
    rig.store.hold();
    const first = rig.acquire();
    await rig.clock.settle();
    const second = rig.acquire();
    rig.store.trouble = 'failed';
    rig.store.letGo();
    await rig.clock.settle();
    expect([first, second].map(answer)).toEqual(['storage_unavailable', 'storage_unavailable']);
    expect(rig.pool.inUse).toBe(0);
  });

  it('undoes no release: the slot stays free, the row goes with the next flush', async () => {
    const rig = new Rig({ pool: long });
    const lease = await rig.hold();
    rig.release(lease);
    rig.store.trouble = 'failed';
    await rig.clock.pass(250);
    expect(rig.pool.inUse).toBe(0);
    expect(rig.store.leases.size).toBe(1);
    rig.store.trouble = null;
    await rig.clock.pass(250);
    expect(rig.store.leases.size).toBe(0);
  });

  it('keeps older leases, which can be renewed and released meanwhile', async () => {
    const rig = new Rig({ pool: long });
    const [kept, freed] = [await rig.hold(), await rig.hold()];
    rig.store.trouble = 'failed';
    rig.release(freed);
    const told = rig.acquire();
    await rig.clock.pass(250);
    expect(answer(told)).toBe('storage_unavailable');
    expect(rig.renew(kept)).toBe('renewed');
    expect(rig.pool.inUse).toBe(1);
    expect(rig.release(kept)).toBe(true);
  });
});

describe('while the store fails', () => {
  async function failing(): Promise<Rig> {
    const rig = new Rig({ pool: settings({ ...LONG, limit: 1 }) });
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.settle();
    return rig;
  }

  it('acquires are refused at once, those that would wait too', async () => {
    const rig = await failing();
    const before = rig.store.tried.length;
    const told = [rig.acquire(), rig.acquire({ waitMs: 5000 })];
    await rig.clock.settle();
    expect(told.map(answer)).toEqual(['storage_unavailable', 'storage_unavailable']);
    expect(rig.store.tried).toHaveLength(before);
    expect(rig.pool.queue.length).toBe(0);
  });

  it('who waits keeps its place, nobody is admitted, and recovery serves by itself', async () => {
    const rig = new Rig({ pool: long });
    const held = [await rig.hold(), await rig.hold()];
    const line = [1, 2, 3].map(() => rig.acquire({ waitMs: 4000 }));
    rig.store.trouble = 'failed';
    rig.release(held[0] as typeof held[0] & object);
    await rig.clock.settle();
    // The slot went to the head, whose grant could not be made durable.
    expect(line.map(answer)).toEqual(['storage_unavailable', null, null]);
    rig.release(held[1] as typeof held[0] & object);
    await rig.clock.pass(2000);
    expect(line.map(answer)).toEqual(['storage_unavailable', null, null]);
    expect(rig.pool.inUse).toBe(0);
    rig.store.trouble = null;
    await rig.clock.pass(250);
    expect(line.map(answer)).toEqual(['storage_unavailable', 'granted', 'granted']);
    expect(rig.heard).toEqual(['failing', 'recovered']);
  });

  it('a wait whose budget ends is answered storage_unavailable', async () => {
    const rig = new Rig({ pool: long });
    await rig.hold();
    await rig.hold();
    const waiter = rig.acquire({ waitMs: 600 });
    rig.store.trouble = 'failed';
    rig.scheduler.restamp();
    await rig.clock.pass(599);
    expect(answer(waiter)).toBeNull();
    await rig.clock.pass(1);
    expect(answer(waiter)).toBe('storage_unavailable');
  });

  it('no more than 10 000 refusals are kept for the log', async () => {
    const rig = await failing();
    for (let each = 0; each < 12_000; each++) {
      rig.scheduler.journal.log({ ...REFUSAL, id: `${each}` });
    }
    rig.store.trouble = null;
    await rig.clock.pass(250);
    expect(rig.store.entries.length).toBeLessThanOrEqual(10_000);
    expect(rig.store.entries.at(-1)?.id).toBe('11999');
  });

  it('is tried again each 250 ms, and told once', async () => {
    const rig = await failing();
    const before = rig.store.tried.length;
    await rig.clock.pass(1000);
    expect(rig.store.tried.length - before).toBe(4);
    expect(rig.heard).toEqual(['failing']);
  });
});

describe('a store that is locked', () => {
  it('is waited out up to 1 s, and nothing fails', async () => {
    const rig = new Rig({ pool: long });
    rig.store.trouble = 'busy';
    const told = rig.acquire();
    await rig.clock.pass(950);
    expect(answer(told)).toBeNull();
    rig.store.trouble = null;
    await rig.clock.pass(20);
    expect(answer(told)).toBe('granted');
    expect(rig.heard).toEqual([]);
  });

  it('counts as failing after 1 s', async () => {
    const rig = new Rig({ pool: long });
    rig.store.trouble = 'busy';
    const told = rig.acquire();
    await rig.clock.pass(1020);
    expect(answer(told)).toBe('storage_unavailable');
    expect(rig.heard).toEqual(['failing']);
    expect(rig.pool.inUse).toBe(0);
  });

  it('has a whole second anew after each write that succeeded', async () => {
    const rig = new Rig({ pool: long });
    for (let round = 0; round < 3; round++) {
      rig.store.trouble = 'busy';
      const told = rig.acquire();
      await rig.clock.pass(700);
      rig.store.trouble = null;
      await rig.clock.pass(20);
      rig.release(leaseOf(told));
    }
    expect(rig.heard).toEqual([]);
  });
});

describe('a database that another server took over', () => {
  it('is told to the process, and nothing is answered or written any more', async () => {
    const rig = new Rig({ pool: long });
    rig.store.trouble = 'lost';
    const told = rig.acquire();
    await rig.clock.pass(5000);
    expect(rig.heard).toEqual(['lost']);
    expect(answer(told)).toBeNull();
    expect(rig.store.tried).toHaveLength(1);
  });
});
