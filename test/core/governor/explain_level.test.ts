/**
 * What the status says of the level, where the slots are what holds back: what was measured, and
 * what the next trial waits for.
 */
import { describe, expect, test } from 'vitest';
import { Driver } from './fixtures.ts';

const statusOf = (driver: Driver) => driver.governor.status(driver.nowMs);

/** Full rounds of proxied calls, whose answers take as long as `ms` says of the level. */
function proxied(driver: Driver, rounds: number, ms: (level: number) => number): Set<string> {
  const reasons = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const starts = driver.fill();
    const firstByteMs = ms(starts.length);
    driver.nowMs += firstByteMs;
    for (const start of starts) {
      driver.end(start, { kind: 'ok', status: 200, firstByteMs });
      reasons.add(statusOf(driver).reason);
    }
  }
  return reasons;
}

describe('answers that become slower', () => {
  test('are not told where all take as long, while the level grows', () => {
    const driver = new Driver({ concurrency: { limit: 4, max: 10 } });
    const reasons = [...proxied(driver, 30, () => 1000)];
    expect(driver.governor.limit).toBe(10);
    expect(reasons).toContain("at the operator's max");
    expect(reasons.filter((reason) => /slower/.test(reason))).toEqual([]);
  });

  test('are told where they were measured', () => {
    const driver = new Driver({ concurrency: { limit: 20, max: 64 } });
    const reasons = proxied(driver, 300, (level) => 200 * Math.max(1, level / 24));
    expect([...reasons]).toContainEqual(
      expect.stringMatching(/^held at 2\d: answers become slower above it$/),
    );
  });
});
