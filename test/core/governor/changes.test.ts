/**
 * The changes that a governor tells: every one, with its reason, and none twice.
 */
import { describe, expect, test } from 'vitest';
import { CHANGES_KEPT } from '../../../src/core/governor/governor.ts';
import { Driver, settings, T0, THROTTLED } from './fixtures.ts';

describe('changes between two drains', () => {
  test('are all told: 200 refusals of one flight lose none', () => {
    const driver = new Driver({
      concurrency: { limit: 200, max: 200 },
      rate: { kind: 'concurrency' },
    });
    const starts = driver.fill();
    driver.nowMs += 100;
    for (const start of starts) driver.end(start, THROTTLED);
    const limits = driver.governor.drainChanges().filter(({ what }) => what === 'limit');
    expect(limits[0]?.from).toBe(200);
    expect(limits.at(-1)?.to).toBe(driver.governor.limit);
    limits.slice(1).forEach(({ from }, index) => expect(from).toBe(limits[index]?.to));
  });

  test('are bounded by what is kept of a pool, and the oldest go', () => {
    const driver = new Driver({ concurrency: { mode: 'fixed', limit: 1 } });
    for (let limit = 2; limit <= CHANGES_KEPT + 11; limit += 1) {
      driver.governor.configure(T0, settings({ concurrency: { mode: 'fixed', limit } }));
    }
    const changes = driver.governor.drainChanges();
    expect(changes.length).toBe(CHANGES_KEPT);
    expect(changes[0]).toMatchObject({ from: 11, to: 12 });
    expect(driver.governor.drainChanges()).toEqual([]);
  });
});
