/**
 * Settings and asks for tests: tiny limits, so that every boundary is near, and round times.
 */
import type { Ask } from '../../src/core/ask.ts';
import type { PoolSettings } from '../../src/core/settings.ts';

/** Where the clocks of tests stand: 2026-01-01T00:00:00Z. */
export const T0 = Date.UTC(2026, 0, 1);

export interface SettingsParts {
  readonly limit?: number;
  readonly mode?: 'fixed' | 'adaptive';
  readonly max?: number;
  readonly maxDepth?: number;
  readonly timeoutMs?: number;
  readonly termMs?: number;
  readonly requestTimeoutMs?: number;
}

/** Two slots, three waiters, waits of up to 1 s, a term of 100 ms, at most 250 ms in all. */
export function settings(parts: SettingsParts = {}): PoolSettings {
  return {
    concurrency: {
      limit: parts.limit ?? 2,
      mode: parts.mode ?? 'fixed',
      min: 1,
      max: parts.max ?? 8,
    },
    queue: { maxDepth: parts.maxDepth ?? 3, timeoutMs: parts.timeoutMs ?? 1000 },
    lease: {
      termMs: parts.termMs ?? 100,
      renewIntervalMs: 30,
      requestTimeoutMs: parts.requestTimeoutMs ?? 250,
    },
    rate: {
      rpm: null,
      tpm: null,
      burst: null,
      learn: false,
      kind: 'auto',
      maxPauseMs: 300_000,
    },
  };
}

let attempts = 0;

/** A fail-fast ask for one slot, unless said otherwise. */
export function ask(more: Partial<Ask> = {}): Ask {
  attempts++;
  return {
    door: 'lock',
    attempt: `attempt ${attempts}`,
    waitMs: 0,
    slots: 1,
    tokens: 0,
    keyId: null,
    holder: null,
    ...more,
  };
}
