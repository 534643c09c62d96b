/**
 * A clock for the client's tests: time passes only when a test says so, and what was set to happen
 * happens in order, with all promises between two instants settled.
 */
import type { Clock } from '../../src/client/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly then: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 1_000;
  readonly #timers = new Set<Timer>();

  nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(0, ms), then };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.then();
      await settled();
    }
    this.#nowMs = untilMs;
  }
}

/** Lets every promise that can settle do so. */
export function settled(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
