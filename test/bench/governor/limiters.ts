/**
 * The table of limiters that the benchmark compares: the shipped governor and the published
 * algorithms, by the name that the output uses.
 */
import type { MakeLimiter } from './limiter.ts';
import type { GovernorSettings, Saved } from '../../../src/core/governor/governor.ts';
import { makeGovernor } from '../../../src/core/governor/governors.ts';
import { makeNoLimit } from './limiters/no_limit.ts';

/** An adaptive pool as it is created, but for the queue. */
const SETTINGS: GovernorSettings = {
  concurrency: { limit: 4, mode: 'adaptive', min: 1, max: 256 },
  rate: { rpm: null, tpm: null, burst: null, learn: true, kind: 'auto', maxPauseMs: 300_000 },
};

export const LIMITERS: Readonly<Record<string, MakeLimiter>> = {
  nthbouncer: ({ nowMs, random, saved }) =>
    makeGovernor(SETTINGS, {
      nowMs,
      random,
      ...(saved !== undefined && { saved: saved as Saved }),
    }),
  none: () => makeNoLimit(),
};
