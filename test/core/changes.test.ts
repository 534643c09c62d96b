/**
 * What an operator changes while slots are held and others wait: limits, pauses, and pools that are
 * deleted.
 */
import { describe, expect, it } from 'vitest';
import { Bench } from '../support/bench.ts';
import { settings, T0 } from '../support/pools.ts';

const one = settings({ limit: 1 });

describe('a changed limit', () => {
  it('that is raised serves who waits at once, as many as fit', () => {
    const bench = new Bench(one);
    bench.hold();
    const line = [bench.wait(), bench.wait(), bench.wait()];
    bench.configure(settings({ limit: 3 }));
    expect(line.map((waiter) => bench.fate(waiter))).toEqual(['granted', 'granted', null]);
  });

  it('that is lowered revokes nothing, and admits nobody until it fits', () => {
    const bench = new Bench();
    const held = [bench.hold(), bench.hold()];
    bench.configure(one);
    expect(held.every(({ isLive }) => isLive)).toBe(true);
    expect(bench.pool.gauge(T0)).toMatchObject({ limit: 1, remaining: 0 });
    const waiter = bench.wait();
    bench.release(held[0] as (typeof held)[0] & object);
    expect(bench.fate(waiter)).toBeNull();
    bench.release(held[1] as (typeof held)[0] & object);
    expect(bench.fate(waiter)).toBe('granted');
  });

  it('that is lowered refuses who became too wide, and serves the next', () => {
    const bench = new Bench(settings({ limit: 3 }));
    bench.hold();
    bench.hold();
    const wide = bench.wait(1000, { slots: 3 });
    const small = bench.wait();
    bench.configure(settings({ limit: 2 }));
    expect(bench.settled.get(wide)).toMatchObject({ kind: 'too_wide', slotsMax: 2 });
    expect(bench.fate(small)).toBeNull();
    bench.configure(settings({ limit: 3 }));
    expect(bench.fate(small)).toBe('granted');
  });

  it('that is lowered tells whom it refuses how many are left in the line', () => {
    const bench = new Bench(settings({ limit: 3 }));
    bench.hold();
    const wide = [bench.wait(1000, { slots: 3 }), bench.wait(1000, { slots: 3 })];
    bench.configure(settings({ limit: 2 }));
    expect(wide.map((waiter) => bench.settled.get(waiter)?.gauge.queued)).toEqual([1, 0]);
  });
});

describe('setPause', () => {
  it('keeps who waits in place, and refuses at once whom it outlasts', () => {
    const bench = new Bench(one);
    const held = bench.hold();
    const [short, long] = [bench.wait(50), bench.wait(500)];
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: T0 + 80, reason: 'backup' });
    expect(bench.settled.get(short)).toMatchObject({
      reason: 'paused',
      retryAfterMs: 80,
      gauge: { queued: 1 },
    });
    bench.release(held);
    expect(bench.fate(long)).toBeNull();
    bench.pass(80);
    expect(bench.fate(long)).toBe('granted');
  });

  it('without an end keeps all who wait until their budget ends or it is resumed', () => {
    const bench = new Bench(one);
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: Infinity, reason: null });
    const [short, long] = [bench.wait(50), bench.wait(500)];
    bench.pass(60);
    expect(bench.fate(short)).toBe('timed_out');
    expect(bench.fate(long)).toBeNull();
    bench.bouncer.setPause(bench.nowMs, bench.pool, null);
    expect(bench.fate(long)).toBe('granted');
  });

  it('holds nothing back but admission: renew, release and reclaim go on', () => {
    const bench = new Bench(settings({ limit: 3 }));
    const [kept, freed, lost] = [bench.hold(), bench.hold(), bench.hold()];
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: Infinity, reason: null });
    expect(bench.release(freed)).toBe(true);
    bench.pass(60);
    expect(bench.renew(kept)).toBe('renewed');
    bench.pass(40);
    expect(bench.lapsed).toEqual([lost]);
    expect(bench.pool.inUse).toBe(1);
  });
});

describe('freeze and thaw', () => {
  it('admit nobody, then all whom the slots allow, in their order', () => {
    const bench = new Bench();
    const held = [bench.hold(), bench.hold()];
    const line = [bench.wait(), bench.wait(), bench.wait()];
    bench.bouncer.freeze(['lock']);
    bench.bouncer.admitAll(bench.nowMs);
    for (const lease of held) bench.release(lease);
    bench.configure(settings({ limit: 4 }));
    expect(bench.settled.size).toBe(0);
    bench.configure(settings({ limit: 2 }));
    bench.bouncer.thaw();
    bench.bouncer.admitAll(bench.nowMs);
    expect(line.map((waiter) => bench.fate(waiter))).toEqual(['granted', 'granted', null]);
  });

  it('hold up nobody of another door, and keep the places of their own', () => {
    const bench = new Bench(settings({ limit: 2, maxDepth: 9 }));
    const held = [bench.hold(), bench.hold()];
    const locks = [bench.wait(), bench.wait()];
    const proxied = [bench.wait(1000, { door: 'proxy' }), bench.wait(1000, { door: 'proxy' })];
    bench.bouncer.freeze(['lock']);
    bench.bouncer.admitAll(bench.nowMs);
    for (const lease of held) bench.release(lease);
    expect(proxied.map((waiter) => bench.fate(waiter))).toEqual(['granted', 'granted']);
    bench.configure(settings({ limit: 3, maxDepth: 9 }));
    bench.hold(1, { door: 'proxy', waitMs: 0 });
    const late = bench.wait(1000, { door: 'proxy' });
    bench.bouncer.thaw();
    bench.bouncer.admitAll(bench.nowMs);
    bench.configure(settings({ limit: 5, maxDepth: 9 }));
    const fates = [...locks, late].map((waiter) => bench.fate(waiter));
    expect(fates).toEqual(['granted', 'granted', null]);
  });

  it('let in at once whom only a waiter of the frozen door stood before', () => {
    const bench = new Bench(settings({ limit: 3 }));
    bench.hold(2);
    const wide = bench.wait(1000, { slots: 2 });
    const small = bench.wait(1000, { door: 'proxy' });
    bench.bouncer.freeze(['lock']);
    bench.bouncer.admitAll(bench.nowMs);
    expect([wide, small].map((waiter) => bench.fate(waiter))).toEqual([null, 'granted']);
  });

  it('count no waiter of the frozen door before others whom a rate holds', () => {
    const rate = { ...settings().rate, rpm: 60, burst: 1 };
    const bench = new Bench({ ...settings({ limit: 9, maxDepth: 9, timeoutMs: 60_000 }), rate });
    bench.hold();
    for (let count = 0; count < 5; count += 1) bench.wait(9000);
    bench.bouncer.freeze(['lock']);
    bench.bouncer.admitAll(bench.nowMs);
    const proxied = bench.wait(1500, { door: 'proxy' });
    bench.pass(1100);
    expect(bench.fate(proxied)).toBe('granted');
  });
});

describe('remove', () => {
  it('refuses who waits, drops the leases, and leaves nothing due', () => {
    const bench = new Bench(one);
    const lease = bench.hold();
    const waiter = bench.wait();
    bench.bouncer.remove(T0, 'a');
    expect(bench.fate(waiter)).toBe('pool_gone');
    expect(bench.ended).toEqual([lease]);
    expect(bench.lapsed).toEqual([]);
    expect(bench.bouncer.dueAtMs).toBe(Infinity);
    expect(bench.bouncer.pools.size).toBe(0);
    const anew = bench.bouncer.create(T0, 'a', { settings: one });
    expect(anew.inUse).toBe(0);
    expect(anew).not.toBe(bench.pool);
  });
});
