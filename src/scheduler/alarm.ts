/**
 * One timer for all that is due, kept at the earliest instant. It is not moved back when that
 * instant goes away: a timer that fires too early finds nothing to do and is set anew.
 */
import type { Clock, Timer } from './clock.ts';

export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | null = null;
  #atMs = Infinity;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `atMs` or earlier. */
  set(atMs: number): void {
    if (atMs >= this.#atMs) return;
    this.#timer?.cancel();
    this.#atMs = atMs;
    this.#timer = this.#clock.after(atMs - this.#clock.nowMs(), () => {
      this.#atMs = Infinity;
      this.#ring();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#atMs = Infinity;
  }
}
