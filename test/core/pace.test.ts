/**
 * The retry hint of a full pool: an estimate, always within its bounds.
 */
import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/core/pace.ts';

describe('Pace', () => {
  it('waitMs is 1 s while nothing is known', () => {
    expect(new Pace().waitMs(5, 1)).toBe(1000);
  });

  it('waitMs is the time between ends at that many leases, for each ahead and one more', () => {
    const pace = new Pace();
    pace.note(300);
    expect(pace.waitMs(0, 1)).toBe(300);
    expect(pace.waitMs(0, 3)).toBe(100);
    expect(pace.waitMs(2, 3)).toBe(300);
  });

  it('waitMs is a whole number from 1 to 60 000, whatever was held', () => {
    const pace = new Pace();
    pace.note(0);
    expect(pace.waitMs(0, 1)).toBe(1);
    pace.note(7);
    expect(pace.waitMs(0, 0)).toBe(2);
    pace.note(10_000_000);
    expect(pace.waitMs(50, 1)).toBe(60_000);
  });
});
