/**
 * Whole numbers that only grow: across restarts (seeded with the last one that was stored) and
 * across a restored backup (the clock has gone on since it was made). Fences and the ids of
 * attempts are such numbers.
 */
const PER_MS = 1000;

export class Sequence {
  #last: number;

  /** @param last the highest number that may have been used before; 0 where there is none. */
  constructor(last = 0) {
    this.#last = last;
  }

  get last(): number {
    return this.#last;
  }

  /** max(last + 1, epoch ms x 1000): below 2^53 until the year 2255. */
  next(nowMs: number): number {
    this.#last = Math.max(this.#last + 1, nowMs * PER_MS);
    return this.#last;
  }
}
