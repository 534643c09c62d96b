/**
 * When one more is tried where few are in flight, and how starts are spaced meanwhile.
 */
import { describe, expect, test } from 'vitest';
import { Driver, THROTTLED } from './fixtures.ts';

/** One call at a time, of `callMs`, until one more is to be tried; its place is taken again. */
function beforeTrial(callMs: number): Driver {
  const driver = new Driver({ concurrency: { limit: 2 } });
  driver.end(driver.start());
  const pair = [driver.start(), driver.start()];
  for (const start of pair.reverse()) driver.end(start, THROTTLED);
  driver.nowMs = driver.opensAtMs();
  while (driver.governor.dueAtMs === Infinity) {
    const start = driver.start();
    driver.pass(callMs);
    driver.end(start);
  }
  driver.start();
  return driver;
}

describe('one more where few are in flight', () => {
  test('is tried once no call started for as long as starts will be apart, and it says so', () => {
    const driver = beforeTrial(300);
    expect(driver.governor.dueAtMs).toBe(driver.nowMs + 150);
    expect(driver.governor.status(driver.nowMs)).toMatchObject({
      about: 'slots',
      reason: 'at 1: refused at 2, one more is tried in 1 s unless a call starts before',
      nextChangeAt: driver.nowMs + 150,
    });
    driver.pass(149);
    expect(driver.governor.limit).toBe(1);
    driver.pass(1);
    expect(driver.governor.limit).toBe(2);
    expect(driver.isOpen()).toBe(true);
  });

  test('is tried later where a call starts meanwhile', () => {
    const driver = beforeTrial(300);
    driver.pass(100);
    driver.endOldest({ kind: 'failed', status: 500 });
    driver.start();
    driver.pass(149);
    expect(driver.governor.limit).toBe(1);
    driver.pass(1);
    expect(driver.governor.limit).toBe(2);
  });

  test('is not tried at its moment where a refusal came before', () => {
    const driver = beforeTrial(300);
    driver.pass(100);
    driver.endOldest(THROTTLED);
    driver.pass(50);
    expect(driver.governor.limit).toBe(1);
    expect(driver.governor.status(driver.nowMs).reason).not.toMatch(/one more is tried/);
  });
});

describe('while one more is tried where few are in flight', () => {
  function onTrial(callMs: number): Driver {
    const driver = beforeTrial(callMs);
    driver.pass(callMs / 2);
    driver.start();
    return driver;
  }

  test('starts are nearly as far apart as with both in use, and it says so', () => {
    const driver = onTrial(300);
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
    expect(waits).toEqual([135, 135, 135]);
  });

  test.each([[300, 2000], [10_000, 5000], [100_000, 30_000]])(
    'calls of %i ms: that ends by itself in %i ms',
    (callMs, lastsMs) => {
      const driver = onTrial(callMs);
      driver.nowMs += lastsMs - 1;
      driver.start();
      expect(driver.isOpen()).toBe(false);
      driver.nowMs += 1;
      expect(driver.isOpen()).toBe(true);
    },
  );
});
