/**
 * The table of limiters that the benchmark compares: the shipped governor and the published
 * algorithms, by the name that the output uses.
 */
import type { MakeLimiter } from './limiter.ts';
import { makeNoLimit } from './limiters/no_limit.ts';

export const LIMITERS: Readonly<Record<string, MakeLimiter>> = {
  none: () => makeNoLimit(),
};
