/** What becomes of a pause under way when the operator lowers what one may last. */
import { describe, expect, test } from 'vitest';
import { Driver, settings, THROTTLED } from './fixtures.ts';

const FIXED = { mode: 'fixed', limit: 8 } as const;

describe('settings in force', () => {
  test('a lowered maxPauseMs ends a longer pause with it, and says so', () => {
    const lowered = settings({ concurrency: FIXED, rate: { maxPauseMs: 1000 } });
    const driver = new Driver({ concurrency: FIXED, rate: { maxPauseMs: 60_000 } });
    driver.end(driver.start(), { ...THROTTLED, retryAfterMs: 50_000 });
    driver.governor.drainChanges();
    driver.nowMs += 5000;
    driver.governor.configure(driver.nowMs, lowered);
    expect(driver.opensAtMs()).toBe(driver.nowMs + 1000);
    expect(driver.governor.drainChanges()).toMatchObject([
      { what: 'pause', from: 45_000, to: 1000, why: 'the operator changed the settings' },
    ]);
    driver.nowMs += 900;
    driver.governor.configure(driver.nowMs, lowered);
    expect(driver.opensAtMs()).toBe(driver.nowMs + 100);
    driver.nowMs += 100;
    driver.start();
    expect(driver.isOpen()).toBe(false);
  });

  test('a lowered maxPauseMs leaves the time between two tries as it is', () => {
    const driver = new Driver({ concurrency: FIXED });
    for (let count = 0; count < 6; count += 1) {
      driver.nowMs = driver.opensAtMs();
      driver.end(driver.start(), THROTTLED);
    }
    const nextAtMs = driver.opensAtMs();
    driver.governor.configure(
      driver.nowMs,
      settings({ concurrency: FIXED, rate: { maxPauseMs: 0 } }),
    );
    expect(driver.opensAtMs()).toBe(nextAtMs);
  });
});
