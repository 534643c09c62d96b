/**
 * What an acquire is answered, gate by gate, and that a refusal takes nothing.
 */
import { describe, expect, it } from 'vitest';
import { Bench } from '../support/bench.ts';
import { settings, T0 } from '../support/pools.ts';

describe('acquire, fail-fast', () => {
  it('grants while slots are free, then refuses with an estimate and takes nothing', () => {
    const bench = new Bench();
    bench.hold();
    expect(bench.acquire()).toMatchObject({ kind: 'granted', gauge: { limit: 2, remaining: 0 } });
    expect(bench.acquire()).toEqual({
      kind: 'refused',
      reason: 'full',
      retryAfterMs: 1000,
      gauge: { limit: 2, remaining: 0, queued: 0, rate: null },
    });
    expect(bench.pool.inUse).toBe(2);
    expect(bench.begun).toHaveLength(2);
  });

  it('is refused while anyone waits, though a slot is free', () => {
    const bench = new Bench();
    bench.hold();
    const wide = bench.wait(1000, { slots: 2 });
    expect(bench.acquire()).toMatchObject({ kind: 'refused', reason: 'full' });
    expect(bench.fate(wide)).toBeNull();
  });

  it('estimates its retry hint from how long slots are held, and not from idle time', () => {
    const bench = new Bench(settings({ termMs: 5000, requestTimeoutMs: 9000 }));
    for (let round = 0; round < 3; round++) {
      const held = bench.hold();
      bench.pass(40);
      bench.release(held);
      bench.pass(20_000);
    }
    bench.hold(2);
    expect(bench.acquire()).toMatchObject({ reason: 'full', retryAfterMs: 40 });
    bench.pass(5000);
    bench.hold();
    bench.hold();
    expect(bench.acquire()).toMatchObject({ reason: 'full', retryAfterMs: 516 });
  });
});

describe('acquire with a wait', () => {
  it('does not wait where a slot is free', () => {
    expect(new Bench().acquire({ waitMs: 500 }).kind).toBe('granted');
  });

  it('is refused as queue_full beyond the deepest queue, and the newest is who goes', () => {
    const bench = new Bench(settings({ limit: 1 }));
    const held = bench.hold();
    const line = [bench.wait(), bench.wait(), bench.wait()];
    expect(bench.acquire({ waitMs: 500 })).toMatchObject({
      kind: 'refused',
      reason: 'queue_full',
      gauge: { queued: 3 },
    });
    bench.release(held);
    expect(line.map((waiter) => bench.fate(waiter))).toEqual(['granted', null, null]);
  });

  it('is a fail-fast call where the pool lets nobody wait', () => {
    const bench = new Bench(settings({ limit: 1, timeoutMs: 0 }));
    bench.hold();
    expect(bench.acquire({ waitMs: 500 })).toMatchObject({ kind: 'refused', reason: 'full' });
    const narrow = new Bench(settings({ limit: 1, maxDepth: 0 }));
    narrow.hold();
    expect(narrow.acquire({ waitMs: 500 })).toMatchObject({ reason: 'queue_full' });
  });

  it('waits no longer than the pool allows, however long it asks', () => {
    const bench = new Bench(settings({ limit: 1, termMs: 5000, requestTimeoutMs: 9000 }));
    bench.hold();
    const waiter = bench.wait(Number.MAX_SAFE_INTEGER);
    bench.pass(999);
    expect(bench.fate(waiter)).toBeNull();
    bench.pass(1);
    expect(bench.fate(waiter)).toBe('timed_out');
  });
});

describe('acquire of several slots', () => {
  it('is refused with the limit where it can never fit, before any other gate', () => {
    const bench = new Bench();
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: Infinity, reason: null });
    expect(bench.acquire({ slots: 3, waitMs: 500 })).toMatchObject({
      kind: 'too_wide',
      slotsMax: 2,
    });
    expect(bench.pool.queue.length).toBe(0);
  });

  it('may ask for up to max in an adaptive pool, and goes in alone above the limit', () => {
    const bench = new Bench(settings({ mode: 'adaptive', limit: 2, max: 4 }));
    expect(bench.acquire({ slots: 5 })).toMatchObject({ kind: 'too_wide', slotsMax: 4 });
    const wide = bench.hold(4);
    expect(bench.pool.gauge(T0)).toMatchObject({ limit: 2, remaining: 0 });
    expect(bench.acquire().kind).toBe('refused');
    bench.release(wide);
    bench.hold();
    expect(bench.acquire({ slots: 4 }).kind).toBe('refused');
  });
});

describe('the pause', () => {
  it('refuses fail-fast calls with its true end, and 1 s where nobody knows it', () => {
    const bench = new Bench();
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: T0 + 700, reason: null });
    expect(bench.acquire()).toMatchObject({ reason: 'paused', retryAfterMs: 700 });
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: Infinity, reason: null });
    expect(bench.acquire()).toMatchObject({ reason: 'paused', retryAfterMs: 1000 });
    expect(bench.pool.inUse).toBe(0);
  });

  it('refuses at once a wait that ends before it, and queues one that does not', () => {
    const bench = new Bench();
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: T0 + 700, reason: null });
    expect(bench.acquire({ waitMs: 699 })).toMatchObject({ reason: 'paused', retryAfterMs: 700 });
    const waiter = bench.wait(700);
    bench.pass(699);
    expect(bench.fate(waiter)).toBeNull();
    bench.pass(1);
    expect(bench.settled.size).toBe(1);
  });

  it('lets who waits in at its very end, by time alone', () => {
    const bench = new Bench();
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: T0 + 50, reason: null });
    const line = [bench.wait(), bench.wait(), bench.wait()];
    bench.pass(50);
    expect(line.map((waiter) => bench.fate(waiter))).toEqual(['granted', 'granted', null]);
  });
});

describe('the rate', () => {
  it('is asked before concurrency, and a refusal by either takes from neither', () => {
    const bench = new Bench();
    const gate = bench.gate(1);
    gate.openAtMs = T0 + 30;
    expect(bench.acquire()).toMatchObject({ reason: 'rate', retryAfterMs: 30 });
    expect(bench.pool.inUse).toBe(0);
    bench.pass(30);
    bench.hold();
    expect(bench.acquire()).toMatchObject({ reason: 'full' });
    expect(gate.starts).toHaveLength(1);
  });

  it('admits its head when it opens, and tells the governor of the start', () => {
    const bench = new Bench();
    const gate = bench.gate(2);
    gate.openAtMs = T0 + 30;
    const waiter = bench.wait(500, { tokens: 7 });
    bench.pass(29);
    expect(bench.fate(waiter)).toBeNull();
    bench.pass(1);
    expect(bench.fate(waiter)).toBe('granted');
    expect(gate.starts).toMatchObject([{ inFlight: 1, tokens: 7 }]);
  });

  it('lets one wait whose budget ends before it, where work that ends may open it earlier', () => {
    const bench = new Bench();
    const gate = bench.gate(2);
    const held = bench.hold();
    gate.openAtMs = T0 + 900;
    expect(bench.acquire({ waitMs: 80 })).toMatchObject({ kind: 'refused', reason: 'rate' });
    gate.firmUntilMs = T0 + 80;
    const waiter = bench.wait(80);
    gate.onEnd = () => gate.openAtMs = -Infinity;
    bench.release(held);
    expect(bench.fate(waiter)).toBe('granted');
  });

  it('opens by time alone where an old pause is still there that nobody resumed', () => {
    const bench = new Bench();
    const gate = bench.gate(2);
    bench.bouncer.setPause(bench.nowMs, bench.pool, { untilMs: T0 + 10, reason: null });
    bench.pass(20);
    gate.openAtMs = T0 + 50;
    const waiter = bench.wait(500);
    bench.pass(30);
    expect(bench.fate(waiter)).toBe('granted');
  });

  it('refuses who waits when an outcome moves its opening beyond the budget', () => {
    const bench = new Bench(settings({ limit: 1 }));
    const gate = bench.gate(1);
    const held = bench.hold();
    const [short, long] = [bench.wait(40), bench.wait(90)];
    gate.onEnd = () => gate.openAtMs = T0 + 60;
    bench.release(held);
    expect(bench.settled.get(short)).toMatchObject({
      kind: 'refused',
      reason: 'rate',
      retryAfterMs: 60,
    });
    expect(bench.fate(long)).toBeNull();
    bench.pass(60);
    expect(bench.fate(long)).toBe('granted');
  });

  it('tells the governor how each lease ended', () => {
    const bench = new Bench();
    const gate = bench.gate(2);
    bench.release(bench.hold());
    bench.hold();
    bench.pass(100);
    expect(gate.ends.map(({ outcome }) => outcome.kind)).toEqual(['ok', 'lapsed']);
    expect(gate.ends.map(({ start }) => start)).toEqual(gate.starts);
  });
});
