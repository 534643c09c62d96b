/**
 * The table of limiters that the benchmark compares: the shipped governor and the published
 * algorithms, by the name that the output uses.
 */
import type { GovernorSettings, Saved } from '../../../src/core/governor/governor.ts';
import { makeGovernor } from '../../../src/core/governor/governors.ts';
import type { MakeLimiter } from './limiter.ts';
import { Aimd } from './limiters/aimd.ts';
import { AwsAdaptive } from './limiters/aws_adaptive.ts';
import { EnvoyGradient } from './limiters/envoy_gradient.ts';
import { Gradient2 } from './limiters/gradient2.ts';
import { Constant } from './limiters/reference.ts';
import { VectorArc } from './limiters/vector_arc.ts';
import { Vegas } from './limiters/vegas.ts';

const FIXED_LIMIT = 10;

/** A new pool's settings but for the mode; it is told nothing of its upstream. */
const SETTINGS: GovernorSettings = {
  concurrency: { limit: 10, mode: 'adaptive', min: 1, max: 256 },
  rate: { rpm: null, tpm: null, burst: null, learn: true, kind: 'auto', maxPauseMs: 300_000 },
};

export const LIMITERS: Readonly<Record<string, MakeLimiter>> = {
  nthbouncer: ({ nowMs, random, saved }) =>
    makeGovernor(SETTINGS, {
      nowMs,
      random,
      ...(saved !== undefined && { saved: saved as Saved }),
    }),
  none: () => new Constant(Infinity),
  fixed10: () => new Constant(FIXED_LIMIT),
  aimd: () => new Aimd(),
  vegas: ({ random }) => new Vegas(random),
  gradient2: () => new Gradient2(),
  envoy: ({ random }) => new EnvoyGradient(random),
  vectorArc: () => new VectorArc(),
  aws: () => new AwsAdaptive(),
};
