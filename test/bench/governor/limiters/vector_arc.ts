/**
 * Vector's adaptive request concurrency: one change a mean round trip; plus one where the limit was
 * reached and nothing pushed back, times 0.9 where something did or answers were far slower.
 */
import { clamp, Reference, type Sample } from './reference.ts';

const MAX = 200;
const DECREASE = 0.9;
const ALPHA = 0.4;
const DEVIATIONS = 2.5;

export class VectorArc extends Reference {
  #meanMs = 0;
  #variance = 0;
  #isKnown = false;
  #sumMs = 0;
  #count = 0;
  #isPushedBack = false;
  #isReached = false;
  #updateAtMs = 0;

  constructor() {
    super(1);
  }

  protected sample({ nowMs, rttMs, inFlight, isRefused }: Sample): void {
    if (inFlight >= this.limit) this.#isReached = true;
    if (isRefused) {
      this.#isPushedBack = true;
    } else {
      this.#sumMs += rttMs;
      this.#count += 1;
    }
    if (nowMs < this.#updateAtMs) return;
    const currentMs = this.#count > 0 ? this.#sumMs / this.#count : null;
    if (this.#isKnown) this.#adjust(currentMs);
    if (currentMs !== null) this.#remember(currentMs);
    this.#sumMs = 0;
    this.#count = 0;
    this.#isPushedBack = false;
    this.#isReached = false;
    this.#updateAtMs = nowMs + Math.max(1, this.#meanMs);
  }

  #adjust(currentMs: number | null): void {
    const thresholdMs = this.#meanMs + DEVIATIONS * Math.sqrt(this.#variance);
    const isSlow = currentMs !== null && currentMs >= thresholdMs;
    if (this.#isPushedBack || isSlow) {
      this.level = clamp(Math.floor(this.level * DECREASE), 1, MAX);
    } else if (this.#isReached && currentMs !== null && currentMs <= this.#meanMs) {
      this.level = clamp(this.level + 1, 1, MAX);
    }
  }

  #remember(currentMs: number): void {
    if (!this.#isKnown) {
      this.#meanMs = currentMs;
      this.#isKnown = true;
      return;
    }
    const differenceMs = currentMs - this.#meanMs;
    this.#meanMs += ALPHA * differenceMs;
    this.#variance = (1 - ALPHA) * (this.#variance + ALPHA * differenceMs * differenceMs);
  }
}
