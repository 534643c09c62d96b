/**
 * The one source of chance in a simulation: the same seed gives the same numbers in the same order
 * on every machine. Nothing else in the simulator may be random.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from');
    return list[this.whole(0, list.length - 1)] as T;
  }

  /** One of the rows, each as likely as its weight says. */
  weighted<T extends { readonly weight: number }>(rows: readonly T[]): T {
    let rest = this.next() * rows.reduce((sum, row) => sum + row.weight, 0);
    for (const row of rows) {
      rest -= row.weight;
      if (rest < 0) return row;
    }
    return rows.at(-1) as T;
  }
}
