/**
 * Levels that were refused though they had been proven: few calls proved them by luck, others share
 * the cap, or a fault came that no level is the cause of. Where such a refusal pauses the pool,
 * growth from the cut stops short of the level that was refused, as at a ceiling. It knows when
 * levels explain nothing: where one carried so long that the pauses hardly cost, or where each of
 * several was refused below the one before.
 */

/** A level that carried for so many times the pause costs a small part of the time. */
const PAUSES_PER_CARRIED = 30;
const LOWER_MAX = 5;

export class Surprises {
  #level = Infinity;
  #lower = 0;

  /** A proven level was refused, `carriedMs` after the refusal before it, and paused the pool. */
  note(level: number, pauseMs: number, carriedMs: number): void {
    this.#lower = level < this.#level ? this.#lower + 1 : 0;
    const isExplained = pauseMs > 0 && carriedMs <= PAUSES_PER_CARRIED * pauseMs;
    if (isExplained && this.#lower <= LOWER_MAX) this.#level = level;
    else this.forget();
  }

  /** `proven` is: the level that growth stops short of next; Infinity where there is none. */
  ceilingAbove(proven: number): number {
    if (proven >= this.#level) this.forget();
    return this.#level;
  }

  forget(): void {
    this.#level = Infinity;
    this.#lower = 0;
  }
}
