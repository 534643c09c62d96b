/**
 * Coarse deadlines for many short waits (a body that must arrive in time): one timer a second for
 * all of them, since a timer of its own costs more than the wait. A deadline is told up to one
 * second late, never early.
 */
import type { Clock, Timer } from './clock.ts';

const SWEEP_MS = 1000;

interface Deadline {
  readonly atMs: number;
  readonly late: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #open = new Set<Deadline>();
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The promise's value, or `late` once `limitMs` have passed without it. */
  race<T, L>(promise: Promise<T>, limitMs: number, late: L): Promise<T | L> {
    return new Promise((resolve, reject) => {
      const deadline = { atMs: this.#clock.nowMs() + limitMs, late: () => resolve(late) };
      this.#open.add(deadline);
      this.#timer ??= this.#clock.after(SWEEP_MS, () => this.#sweep());
      promise.then(resolve, reject).finally(() => this.#open.delete(deadline));
    });
  }

  close(): void {
    this.#timer?.cancel();
  }

  #sweep(): void {
    const nowMs = this.#clock.nowMs();
    for (const deadline of this.#open) {
      if (deadline.atMs > nowMs) continue;
      this.#open.delete(deadline);
      deadline.late();
    }
    this.#timer = this.#open.size > 0 ? this.#clock.after(SWEEP_MS, () => this.#sweep()) : null;
  }
}
