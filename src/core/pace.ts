/**
 * How fast a pool's slots come free, as a moving average of the gaps between releases. It only
 * estimates the retry hint of a full pool; nothing is decided by it.
 */
const WEIGHT = 0.2;
const UNKNOWN_MS = 1000;
const HINT_MS_MAX = 60_000;

export class Pace {
  #gapMs = 0;
  #lastAtMs = -1;

  /** One slot came free. */
  note(nowMs: number): void {
    if (this.#lastAtMs >= 0) {
      const gapMs = nowMs - this.#lastAtMs;
      this.#gapMs = this.#gapMs === 0 ? gapMs : this.#gapMs + WEIGHT * (gapMs - this.#gapMs);
    }
    this.#lastAtMs = nowMs;
  }

  /** Estimated ms until a slot is free for a caller with `ahead` others before it: 1 to 60 000. */
  waitMs(ahead: number): number {
    if (this.#gapMs === 0) return UNKNOWN_MS;
    return Math.max(1, Math.min(HINT_MS_MAX, Math.ceil(this.#gapMs * (ahead + 1))));
  }
}
