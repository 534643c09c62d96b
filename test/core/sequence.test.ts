/**
 * Numbers that only grow, whatever the clock does.
 */
import { describe, expect, it } from 'vitest';
import { Sequence } from '../../src/core/sequence.ts';
import { T0 } from '../support/pools.ts';

describe('Sequence', () => {
  it('next follows the clock, so that a restored backup does not go back', () => {
    expect(new Sequence(5).next(T0)).toBe(T0 * 1000);
  });

  it('next grows within one ms, and while the clock stands still or goes back', () => {
    const sequence = new Sequence();
    const numbers = [T0, T0, T0 - 10_000].map((nowMs) => sequence.next(nowMs));
    expect(numbers).toEqual([T0 * 1000, T0 * 1000 + 1, T0 * 1000 + 2]);
    expect(sequence.last).toBe(T0 * 1000 + 2);
  });

  it('next goes on after the last one of a database whose clock was ahead', () => {
    expect(new Sequence(T0 * 2000).next(T0)).toBe(T0 * 2000 + 1);
  });

  it('next stays a safe integer until the year 2255', () => {
    expect(Number.isSafeInteger(new Sequence().next(Date.UTC(2255, 0, 1)))).toBe(true);
  });
});
