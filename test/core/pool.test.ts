/**
 * What a pool holds, what fits into it, and when its gates open.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/core/assert.ts';
import type { Lease } from '../../src/core/lease.ts';
import { Pool } from '../../src/core/pool.ts';
import { Gate } from '../support/gate.ts';
import { settings, T0 } from '../support/pools.ts';

function lease(slotId: string, slots: number): Lease {
  return {
    kind: 'lease',
    slotId,
    pool: 'a',
    door: 'lock',
    slots,
    fence: 1,
    attempt: slotId,
    keyId: null,
    holder: null,
    grantedAtMs: T0,
    termMs: 100,
    requestDeadlineMs: T0 + 250,
    start: { sequence: 1, inFlight: 1, atMs: T0, tokens: 0 },
    renewals: 0,
    isLive: false,
    dueAtMs: Infinity,
    place: -1,
    isStored: false,
  };
}

function pool(limit: number, openAtMs = -Infinity): Pool {
  const gate = new Gate(limit);
  gate.openAtMs = openAtMs;
  return new Pool('a', settings({ limit }), gate);
}

describe('Pool.move', () => {
  it('asserts that a lease begins once and ends once, and changes nothing otherwise', () => {
    const one = pool(4);
    const held = lease('x', 2);
    expect(() => one.move(held, 'ended')).toThrow(InvariantError);
    one.move(held, 'held');
    expect(() => one.move(lease('x', 1), 'held')).toThrow(InvariantError);
    expect(one.inUse).toBe(2);
    one.move(held, 'ended');
    expect(() => one.move(held, 'ended')).toThrow(InvariantError);
    expect(one.inUse).toBe(0);
    expect(held.isLive).toBe(false);
  });

  it('keeps inUse at the sum over the live leases, wide ones too', () => {
    const width = fc.integer({ min: 1, max: 5 });
    fc.assert(fc.property(fc.array(width), fc.array(fc.nat(20)), (widths, ends) => {
      const one = pool(4);
      const live = widths.map((slots, at) => lease(`${at}`, slots));
      for (const each of live) one.move(each, 'held');
      for (const at of ends) {
        const [gone] = live.splice(at, 1);
        if (gone !== undefined) one.move(gone, 'ended');
        expect(one.inUse).toBe(live.reduce((sum, { slots }) => sum + slots, 0));
      }
    }));
  });
});

describe('Pool.fits', () => {
  it('lets in what fits beside what is in use', () => {
    const one = pool(3);
    one.move(lease('x', 2), 'held');
    expect(one.fits(1)).toBe(true);
    expect(one.fits(2)).toBe(false);
  });

  it('lets in what is wider than the limit only when nothing is in use', () => {
    const one = pool(1);
    expect(one.fits(3)).toBe(true);
    one.move(lease('x', 1), 'held');
    expect(one.fits(3)).toBe(false);
  });
});

describe('Pool.gauge', () => {
  it('never shows fewer than no slots', () => {
    const one = pool(1);
    one.move(lease('x', 3), 'held');
    expect(one.gauge(T0)).toEqual({ limit: 1, remaining: 0, queued: 0, rate: null });
  });
});

describe('Pool.opening', () => {
  const rate = { kind: 'shut', reason: 'rate', atMs: T0 + 50 };

  it('is the pause while it lasts, and not from its end on', () => {
    const one = pool(1);
    one.pause = { untilMs: T0 + 10, reason: null };
    expect(one.opening(T0 + 9, 0, 0)).toEqual({
      kind: 'shut',
      reason: 'paused',
      atMs: T0 + 10,
    });
    expect(one.opening(T0 + 10, 0, 0)).toEqual({ kind: 'open' });
  });

  it('is the later of the pause and the governor', () => {
    const one = pool(1, T0 + 50);
    one.pause = { untilMs: T0 + 10, reason: null };
    expect(one.opening(T0, 0, 0)).toEqual(rate);
    one.pause = { untilMs: Infinity, reason: null };
    expect(one.opening(T0, 0, 0)).toEqual({
      kind: 'shut',
      reason: 'paused',
      atMs: Infinity,
    });
  });
});

describe('Pool.firmAtMs', () => {
  it('is what the gates are sure of while anything is in use, or anybody stands before', () => {
    const one = pool(2, T0 + 50);
    (one.governor as Gate).firmUntilMs = T0 + 20;
    one.move(lease('x', 1), 'held');
    expect(one.firmAtMs(T0, 0, 0)).toBe(T0 + 20);
    one.pause = { untilMs: T0 + 30, reason: null };
    expect(one.firmAtMs(T0, 0, 0)).toBe(T0 + 30);
    one.pause = { untilMs: Infinity, reason: null };
    expect(one.firmAtMs(T0, 0, 0)).toBe(T0 + 20);
  });

  it('is the opening itself where nothing is in use', () => {
    const one = pool(2, T0 + 50);
    (one.governor as Gate).firmUntilMs = T0 + 20;
    expect(one.firmAtMs(T0, 0, 0)).toBe(T0 + 50);
    expect(one.firmAtMs(T0, 0, 1)).toBe(T0 + 20);
    expect(one.firmAtMs(T0 + 60, 0, 0)).toBe(T0 + 60);
  });
});

describe('Pool.retryAfterMs', () => {
  it('is the true time, at least 1 ms, and 1 s where nobody knows it', () => {
    const one = pool(1);
    expect(one.retryAfterMs(T0 + 7.2, T0)).toBe(8);
    expect(one.retryAfterMs(T0, T0)).toBe(1);
    expect(one.retryAfterMs(Infinity, T0)).toBe(1000);
  });
});
