/**
 * The retry hint of a full pool: an estimate, always within its bounds.
 */
import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/core/pace.ts';
import { T0 } from '../support/pools.ts';

describe('Pace', () => {
  it('waitMs is 1 s while nothing is known', () => {
    const pace = new Pace();
    expect(pace.waitMs(0)).toBe(1000);
    pace.note(T0);
    expect(pace.waitMs(5)).toBe(1000);
  });

  it('waitMs is the gap between releases for each who is ahead, and one more', () => {
    const pace = new Pace();
    pace.note(T0);
    pace.note(T0 + 300);
    expect(pace.waitMs(0)).toBe(300);
    expect(pace.waitMs(2)).toBe(900);
  });

  it('waitMs is a whole number from 1 to 60 000, whatever the gaps', () => {
    const pace = new Pace();
    pace.note(T0);
    pace.note(T0 + 1);
    pace.note(T0 + 1);
    expect(pace.waitMs(0)).toBe(1);
    pace.note(T0 + 10_000_000);
    expect(pace.waitMs(50)).toBe(60_000);
  });
});
