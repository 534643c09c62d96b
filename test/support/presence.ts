/** Callers that are there until a test has them go. */
import type { Presence } from '../../src/scheduler/waiters.ts';

/** One that goes with the signal; without one it stays. */
export function presenceOf(signal: AbortSignal = new AbortController().signal): Presence {
  return {
    get isGone() {
      return signal.aborted;
    },
    signal,
  };
}
