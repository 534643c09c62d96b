/** How long to wait before the next try. */
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/client/backoff.ts';

describe('backoffMs', () => {
  it('never waits less than it was asked to, and grows', () => {
    expect(backoffMs(1, undefined, 0)).toBe(100);
    expect(backoffMs(1, 3_000, 0)).toBe(3_000);
    expect(backoffMs(1, 3_000, 1)).toBe(3_750);
    expect(backoffMs(4, undefined, 0)).toBe(800);
    expect(backoffMs(99, undefined, 1)).toBe(2_500);
  });
});
