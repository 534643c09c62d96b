import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Nonces } from '../../src/access/nonces.ts';
import type { NonceRow } from '../../src/store/store.ts';
import { T0 } from '../support/pools.ts';

const nothing = () => {};
/** Kept until `untilMs`. */
const signed = (nonce: string, untilMs: number) => ({
  nonce,
  signedAtMs: untilMs - 20,
  toleranceMs: 10,
});

describe('Nonces', () => {
  test('a flood of right ones ends in refusals, and in no more memory', () => {
    const nonces = new Nonces(nothing, 3);
    const take = (nonce: string, untilMs: number, nowMs: number) =>
      nonces.take('p', signed(nonce, untilMs), nowMs);
    expect(['a', 'b', 'c'].map((nonce) => take(nonce, 100, 80))).toEqual(Array(3).fill('taken'));
    expect([take('d', 110, 90), take('a', 110, 90), nonces.sizeOf('p')]).toEqual([
      'full',
      'replayed',
      3,
    ]);
    expect([take('d', 121, 101), nonces.sizeOf('p')]).toEqual(['taken', 1]);
  });

  test('is kept up to its last ms, and free after it', () => {
    const nonces = new Nonces(nothing);
    expect(nonces.take('p', signed('a', 100), 80)).toBe('taken');
    expect(nonces.take('p', signed('a', 120), 100)).toBe('replayed');
    expect(nonces.take('p', signed('a', 121), 101)).toBe('taken');
  });

  test('its own call is refused for good, even where that comes after the time of both', () => {
    const nonces = new Nonces(nothing);
    expect(nonces.take('p', signed('a', 100), 80)).toBe('taken');
    expect(nonces.take('p', signed('a', 100), 101)).toBe('forgotten');
    expect(nonces.take('q', signed('a', 100), 101)).toBe('taken');
    expect(nonces.take('q', signed('a', 100), 102)).toBe('forgotten');
  });

  test('one that is kept long does not keep those behind it', () => {
    const nonces = new Nonces(nothing, 3);
    nonces.take('p', signed('long', 1e6), 0);
    nonces.take('p', signed('b', 10), 0);
    nonces.take('p', signed('c', 10), 0);
    expect(nonces.take('p', signed('d', 1e6), 5000)).toBe('taken');
    expect(nonces.sizeOf('p')).toBe(2);
  });

  test('prune forgets what ran out, of pools too that nobody calls', () => {
    const nonces = new Nonces(nothing);
    nonces.take('p', signed('a', 100), 80);
    nonces.take('p', signed('b', 200), 180);
    nonces.prune(150);
    expect(nonces.sizeOf('p')).toBe(1);
    expect(nonces.take('p', signed('a', 100), 150)).toBe('forgotten');
    nonces.prune(1e9);
    expect(nonces.sizeOf('p')).toBe(0);
  });

  test('what a tolerance may have forgotten is written seldom, and not for ever', () => {
    const rows: NonceRow[] = [];
    const nonces = new Nonces((row) => rows.push(row));
    for (let ms = 0; ms <= 10_000; ms += 10) {
      const signedAtMs = T0 + ms;
      nonces.take('p', { nonce: `n${ms}`, signedAtMs, toleranceMs: 1000 }, signedAtMs);
    }
    const marks = rows.filter(({ nonce }) => nonce === 'tolerance 1000');
    expect(marks).toHaveLength(10);
    expect(rows.indexOf(marks[0] as NonceRow)).toBe(0);
    expect(Math.max(...marks.map(({ until }) => until))).toBeLessThan(T0 + 10_000 + 1_802_000);
  });
});

const TOLERANCES_MS = [1_000, 2_000, 5_000, 60_000, 300_000, 900_000];
const shortMs = fc.constantFrom(0, 1, 500, 999, 1_000, 1_001, 2_000, 2_001, 10_000, 120_000);
const step = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), ms: fc.oneof(shortMs, fc.nat(1_200_000)) }),
  fc.record({ kind: fc.constant('set' as const), toleranceMs: fc.constantFrom(...TOLERANCES_MS) }),
  fc.record({ kind: fc.constant('sign' as const), aheadMs: fc.integer({ min: -1, max: 1 }) }),
  fc.record({ kind: fc.constant('restart' as const), isPruned: fc.boolean() }),
);

/** One pool behind the check of its tolerance, with what a store would keep. */
class Door {
  nowMs = T0;
  toleranceMs = 1_000;
  #rows = new Map<string, NonceRow>();
  #nonces = this.#open();

  restart(isPruned: boolean): void {
    for (const [nonce, { until }] of this.#rows) {
      if (isPruned && until < this.nowMs) this.#rows.delete(nonce);
    }
    this.#nonces = this.#open();
  }

  isTaken(nonce: string, signedAtMs: number): boolean {
    const { nowMs, toleranceMs } = this;
    if (Math.abs(nowMs - signedAtMs) > toleranceMs) return false;
    return this.#nonces.take('p', { nonce, signedAtMs, toleranceMs }, nowMs) === 'taken';
  }

  #open(): Nonces {
    const nonces = new Nonces((row) => this.#rows.set(row.nonce, row));
    nonces.restore(this.#rows.values());
    return nonces;
  }
}

test('no order of tolerances, waits and restarts lets a call pass twice, or refuses it', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const door = new Door();
      const taken = new Map<string, number>();
      let smallestMs = Infinity;
      for (const each of steps) {
        if (each.kind === 'pass') door.nowMs += each.ms;
        else if (each.kind === 'set') door.toleranceMs = each.toleranceMs;
        else if (each.kind === 'restart') door.restart(each.isPruned);
        else {
          smallestMs = Math.min(smallestMs, door.toleranceMs);
          const nonce = `n${taken.size}`;
          const signedAtMs = door.nowMs + each.aheadMs * door.toleranceMs;
          const isTaken = door.isTaken(nonce, signedAtMs);
          // It is refused only where it is older than a nonce was ever kept.
          if (door.nowMs - signedAtMs <= 2 * smallestMs) expect(isTaken).toBe(true);
          if (isTaken) taken.set(nonce, signedAtMs);
        }
        for (const [nonce, signedAtMs] of taken) {
          expect(door.isTaken(nonce, signedAtMs)).toBe(false);
        }
      }
    }),
    { numRuns: 500 },
  );
});
