/**
 * What is left in a window of an upstream: what it told last, less what was reserved since. Of a
 * call that reserved more than it used the rest comes back when it ends, unless the upstream told
 * anew meanwhile: what it tells has such calls in it, as they were or as it counts them.
 */
import type { Start } from './governor.ts';

type Sequence = Pick<Start, 'sequence'>;

/** The units of a call that ended. */
export interface CallUnits {
  readonly reserved: number;
  readonly used: number;
}

export class UnitsLeft {
  /** Units; below 0 where more were reserved than there were. */
  amount = 0;
  /** Units of running calls that may yet come back. */
  #returnable = 0;
  /** The newest start when the amount was told. */
  #toldSequence = 0;

  /** Told anew, with `newest` as the newest start. */
  tell(amount: number, newest: Sequence): void {
    this.amount = amount;
    this.#returnable = 0;
    this.#toldSequence = newest.sequence;
  }

  /** Told again of the same window: it only ever goes down. */
  tellAgain(amount: number, newest: Sequence): void {
    if (amount < this.amount) this.tell(amount, newest);
  }

  started(amount: number): void {
    this.amount -= amount;
    this.#returnable += amount;
  }

  ended({ sequence }: Sequence, { reserved, used }: CallUnits): void {
    if (sequence <= this.#toldSequence) return;
    this.amount += reserved - used;
    this.#returnable -= reserved;
  }

  /** Whether `amount` is left, or may be by what running calls give back. */
  mayHold(amount: number): boolean {
    return this.amount + Math.max(0, this.#returnable) >= amount;
  }
}
