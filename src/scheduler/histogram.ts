/**
 * Counts of measured values by upper bound, cheap enough for the hot path: a value is a few
 * comparisons and two additions. Bounds are fixed when it is made.
 */
export class Histogram {
  readonly bounds: readonly number[];
  /** Values at or below each bound and above the one before; the last has no bound. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  note(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] as number)) at++;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sum += value;
    this.count++;
  }
}
