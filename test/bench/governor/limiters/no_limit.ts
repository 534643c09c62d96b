/** Reference: no limiter at all; only the workers' own back-off holds them. */
import type { Limiter } from '../limiter.ts';

export function makeNoLimit(): Limiter {
  return {
    limit: Infinity,
    dueAtMs: Infinity,
    opening: () => ({ kind: 'open' }),
    started: () => {},
    ended: () => {},
    advance: () => {},
  };
}
