/**
 * Netflix Gradient2 over one-second windows: the limit follows the ratio of a long average of round
 * trips to the window's. Refusals are but fast answers to it.
 */
import { clamp, Reference, type Sample } from './reference.ts';

const FIRST = 20;
const MAX = 200;
const WINDOW_MS = 1000;
const SAMPLES_MIN = 10;
const LONG_SAMPLES = 600;
const WARM_UP_SAMPLES = 10;
const TOLERANCE = 1.5;
const QUEUE = 4;
const SMOOTHING = 0.2;

export class Gradient2 extends Reference {
  #sumMs = 0;
  #count = 0;
  #inFlightMax = 0;
  #windowEndMs = 0;
  #longMs = 0;
  #longCount = 0;

  constructor() {
    super(FIRST);
  }

  protected sample({ nowMs, rttMs, inFlight }: Sample): void {
    this.#sumMs += rttMs;
    this.#count += 1;
    this.#inFlightMax = Math.max(this.#inFlightMax, inFlight);
    if (nowMs < this.#windowEndMs || this.#count < SAMPLES_MIN) return;
    this.#update(this.#sumMs / this.#count, this.#inFlightMax);
    this.#sumMs = 0;
    this.#count = 0;
    this.#inFlightMax = 0;
    this.#windowEndMs = nowMs + WINDOW_MS;
  }

  #update(shortMs: number, inFlight: number): void {
    this.#longCount += 1;
    const weight = this.#longCount <= WARM_UP_SAMPLES
      ? 1 / this.#longCount
      : 2 / (LONG_SAMPLES + 1);
    this.#longMs += weight * (shortMs - this.#longMs);
    if (this.#longMs > 2 * shortMs) this.#longMs *= 0.95;
    if (inFlight < this.level / 2) return;
    const gradient = clamp((TOLERANCE * this.#longMs) / shortMs, 0.5, 1);
    const next = gradient * this.level + QUEUE;
    this.level = clamp(this.level + SMOOTHING * (next - this.level), 1, MAX);
  }
}
