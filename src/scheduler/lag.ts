/**
 * How late the event loop runs: a timer is set twice a second, and how much later than asked it
 * fires is the lag.
 */
import type { Clock, Timer } from './clock.ts';
import { Histogram } from './histogram.ts';

const EVERY_MS = 500;
const BOUNDS_MS = [1, 5, 10, 25, 50, 100, 250, 1_000];

export class Lag {
  readonly histogram = new Histogram(BOUNDS_MS);
  readonly #clock: Clock;
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    const dueMs = this.#clock.preciseMs() + EVERY_MS;
    this.#timer = this.#clock.after(EVERY_MS, () => {
      this.histogram.note(Math.max(0, this.#clock.preciseMs() - dueMs));
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
