/**
 * How starts are spaced while one more is tried where few are in flight.
 */
import { describe, expect, test } from 'vitest';
import { Driver, THROTTLED } from './fixtures.ts';

describe('a trial of one more where few are in flight', () => {
  /** One call at a time, of 300 ms, until one more is tried. */
  function onTrial(): Driver {
    const driver = new Driver({ concurrency: { limit: 2 } });
    driver.end(driver.start());
    const pair = [driver.start(), driver.start()];
    for (const start of pair.reverse()) driver.end(start, THROTTLED);
    driver.nowMs = driver.opensAtMs();
    while (driver.governor.limit < 2) {
      const start = driver.start();
      driver.nowMs += 300;
      driver.end(start);
    }
    return driver;
  }

  test('starts keep half of their mean distance, and it says so', () => {
    const driver = onTrial();
    expect(driver.isOpen()).toBe(false);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({
      about: 'rate',
      reason: 'one more in flight is tried: calls start one by one meanwhile',
      nextChangeAt: driver.opensAtMs(),
    });
    const waits: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      const beforeMs = driver.nowMs;
      driver.nowMs = driver.opensAtMs();
      waits.push(driver.nowMs - beforeMs);
      driver.start();
    }
    // What was accepted lately is counted in spans of five seconds.
    for (const waitMs of waits) expect(Math.abs(waitMs - 150)).toBeLessThan(15);
  });

  test('ends by itself in two seconds', () => {
    const driver = onTrial();
    driver.nowMs += 2000;
    driver.start();
    expect(driver.isOpen()).toBe(true);
  });
});
