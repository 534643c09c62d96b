/**
 * Levels that were refused though they had been proven: few calls proved them by luck, others share
 * the cap, or a fault came that no level is the cause of. Where such a refusal pauses the pool,
 * growth from the cut stops short of the level that was refused, as at a ceiling. Where one level
 * after the other carried all that came for a while and was refused nonetheless, levels explain
 * nothing, and fewer in flight only cost: the first of them is the one to stand at.
 */

/** A level that carried for so many times the pause costs a small part of the time. */
const PAUSES_PER_CARRIED = 30;
/** A level that was full so often before it was refused was carried, not lucky... */
const FLIGHTS_CARRIED = 4;
/** ...where it stood for so many pauses, too: short calls are many within a moment's luck. */
const PAUSES_CARRIED = 3;
/** So many in a row, each below the one before, were carried and refused. */
const LOWER_ENOUGH = 3;

export interface Surprise {
  readonly level: number;
  /** What the refusal costs. */
  readonly pauseMs: number;
  /** Since the refusal before it: ms, and calls that succeeded. */
  readonly carriedMs: number;
  readonly calls: number;
}

export class Surprises {
  /** What growth stops short of. */
  #ceiling = Infinity;
  /** Levels that were carried and refused, each below the one before: how many, the first... */
  #series = 0;
  #first = 0;
  /** ...and the last. */
  #last = Infinity;

  /** A proven level was refused. Gives the level to stand at where levels are not the cause. */
  refused({ level, pauseMs, carriedMs, calls }: Surprise): number | null {
    const isCarried = calls >= FLIGHTS_CARRIED * level && carriedMs >= PAUSES_CARRIED * pauseMs;
    const isLower = level < this.#last || this.#series >= LOWER_ENOUGH;
    this.#series = isCarried && isLower ? this.#series + 1 : 0;
    this.#first = this.#series <= 1 ? level : Math.max(this.#first, level);
    this.#last = level;
    const isExplained = this.#series < LOWER_ENOUGH;
    const isCostly = pauseMs > 0 && carriedMs <= PAUSES_PER_CARRIED * pauseMs;
    this.#ceiling = isExplained && isCostly ? level : Infinity;
    return isExplained ? null : this.#first;
  }

  /** `proven` is: the level that growth stops short of next; Infinity where there is none. */
  ceilingAbove(proven: number): number {
    if (proven >= this.#ceiling) this.forget();
    return this.#ceiling;
  }

  forget(): void {
    this.#ceiling = Infinity;
    this.#series = 0;
    this.#last = Infinity;
  }
}
