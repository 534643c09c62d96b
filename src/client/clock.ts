/**
 * The client's time: a monotonic clock, so that a jump of the wall clock neither shortens nor
 * lengthens a lease, and timers. Tests put a manual one in its place.
 */
import { onAbort } from './abort.ts';

export interface Clock {
  nowMs(): number;
  /**
   * Calls `then` after the time; the answer cancels it. `isBackground`: it alone must not keep
   * the process alive.
   */
  after(ms: number, then: () => void, isBackground?: boolean): () => void;
}

/** Longer timers fire at once in some runtimes. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after: (ms, then, isBackground = false) => {
    const timer: unknown = setTimeout(then, Math.min(Math.max(0, ms), TIMER_MS_MAX));
    if (isBackground && typeof timer === 'object' && timer !== null && 'unref' in timer) {
      (timer as { unref(): void }).unref();
    }
    return () => clearTimeout(timer as number);
  },
};

/** Waits, or throws the signal's reason as soon as it aborts. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    if (signal?.aborted) return fail(signal.reason);
    const cancel = clock.after(ms, () => {
      forget();
      done();
    });
    const forget = onAbort(signal, () => {
      cancel();
      fail(signal?.reason);
    });
  });
}
