/**
 * How long a level that was refused is left alone before one more is tried again: in time, and in
 * calls that succeed meanwhile. A refused trial widens both; what a refusal costs widens the time.
 */

/** A trial at the ceiling costs a refused call at most: one in so many calls, and so much time. */
const CALLS_MIN = 15;
const CALLS_MAX = 92;
const MS_MIN = 3000;
const MS_MAX = 8000;
/** One slot more is worth more where there are few. */
const MS_PER_SLOT = 900;
const GROWTH = 1.5;
/** Where a refusal pauses the pool, a trial may cost one part in so many of the time. */
const PAUSES_PER_GAP = 30;
const COSTLY_MS_MAX = 300_000;
/** After so long fewer calls are enough, but never so few that trials are the main thing. */
const SLOW_AFTER_MS = 60_000;
const SLOW_CALLS_MAX = 40;
const JITTER_SHARE = 0.3;

export class ProbeGap {
  #ms = MS_MIN;
  #calls = CALLS_MIN;
  /** What the last refusal cost: the pause that came with it. */
  #pauseMs = 0;
  /** The next trial is of what was proven before, and does not wait for what it may cost. */
  #isRetry = false;
  #jitter = 1;

  get isCostly(): boolean {
    return this.#pauseMs > 0;
  }

  /** Ms from when `level` was taken up, or confirmed, to when one more may be tried. */
  msAt(level: number): number {
    const ownMs = Math.min(this.#ms, level * MS_PER_SLOT);
    const costMs = this.#isRetry ? 0 : PAUSES_PER_GAP * this.#pauseMs;
    return Math.max(MS_MIN, ownMs, Math.min(COSTLY_MS_MAX, costMs)) * this.#jitter;
  }

  /**
   * Calls that have to succeed before one more may be tried, `heldMs` after that. Where calls are
   * slow the first trial needs fewer with time, for a burst that was too fast may have cut deep.
   */
  callsAfter(heldMs: number): number {
    const isSlow = heldMs >= SLOW_AFTER_MS;
    if (this.#calls > CALLS_MIN) {
      return Math.ceil(Math.min(this.#calls, isSlow ? SLOW_CALLS_MAX : CALLS_MAX));
    }
    return isSlow ? Math.ceil(CALLS_MIN * SLOW_AFTER_MS / heldMs) : CALLS_MIN;
  }

  refused(pauseMs: number, random: () => number): void {
    this.#pauseMs = pauseMs;
    this.#isRetry = false;
    this.#jitter = 1 + JITTER_SHARE * random();
  }

  /** The level is another one, or was proven. */
  reset(): void {
    this.#ms = MS_MIN;
    this.#calls = CALLS_MIN;
    this.#isRetry = false;
  }

  /** What was proven before is tried again soon: that is no trial of more than ever. */
  retry(): void {
    this.reset();
    this.#isRetry = true;
  }

  /** The trial was refused. */
  widen(): void {
    this.#ms = Math.min(MS_MAX, this.#ms * GROWTH);
    this.#calls = Math.min(CALLS_MAX, this.#calls * GROWTH);
  }
}
