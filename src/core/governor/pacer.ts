/**
 * Even pacing (GCRA): a start each `periodMs`, `burst` of them at once after an idle time. It holds
 * one instant, so a long idle time never stores more than the burst, and a changed period applies
 * from the next start on.
 */
export class Pacer {
  periodMs: number;
  burst: number;
  /**
   * The instant at which all that was started would have been due, were it evenly spaced: whole ms
   * and the rest apart, for epoch ms leave a float too few digits to add up fractions.
   */
  #dueAtMs = -Infinity;
  #fractionMs = 0;

  constructor(periodMs: number, burst: number) {
    this.periodMs = periodMs;
    this.burst = burst;
  }

  /** Another period from now on; what is left to wait shrinks or grows with it. */
  retime(nowMs: number, periodMs: number): void {
    const leftMs = this.#dueAtMs - nowMs + this.#fractionMs;
    if (leftMs > 0 && this.periodMs > 0) {
      this.#setDue(nowMs, (leftMs * periodMs) / this.periodMs);
    }
    this.periodMs = periodMs;
  }

  /** The earliest instant of a start with `ahead` starts before it; may be a fraction of a ms. */
  opensAtMs(nowMs: number, ahead: number): number {
    const aheadMs = (ahead + 1 - this.burst) * this.periodMs;
    const opensAtMs = this.#dueAtMs > nowMs
      ? this.#dueAtMs + (this.#fractionMs + aheadMs)
      : nowMs + Math.max(0, this.#dueAtMs === nowMs ? this.#fractionMs : 0) + aheadMs;
    return Math.max(nowMs, opensAtMs);
  }

  /** Since when a start has been open: an instant in the past, unless it must wait. */
  openSinceMs(): number {
    return this.#dueAtMs + this.#fractionMs + (1 - this.burst) * this.periodMs;
  }

  /** One start, of `amount` units where the period is that of a unit. */
  take(nowMs: number, amount = 1): void {
    // Instants are whole ms: a start in the ms of its due instant is no later than due.
    const isDue = this.#dueAtMs >= nowMs - 1;
    const fromMs = isDue ? this.#dueAtMs : nowMs;
    this.#setDue(fromMs, (isDue ? this.#fractionMs : 0) + amount * this.periodMs);
  }

  /** As if nothing had been started. */
  clear(): void {
    this.#dueAtMs = -Infinity;
    this.#fractionMs = 0;
  }

  /** No stored burst, and `starts` more behind: what was started without counting for the pace. */
  drain(nowMs: number, starts: number): void {
    const leftMs = Math.max(0, this.#dueAtMs - nowMs + this.#fractionMs);
    this.#setDue(nowMs, Math.max(leftMs, (this.burst - 1 + starts) * this.periodMs));
  }

  #setDue(fromMs: number, addedMs: number): void {
    const whole = Math.floor(addedMs);
    this.#dueAtMs = fromMs + whole;
    this.#fractionMs = addedMs - whole;
  }
}
