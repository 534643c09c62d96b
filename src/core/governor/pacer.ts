/**
 * Even pacing (GCRA): a start each `periodMs`, `burst` of them at once after an idle time. It holds
 * one instant, so a long idle time never stores more than the burst, and a changed period applies
 * from the next start on.
 */
export class Pacer {
  periodMs: number;
  burst: number;
  /** The instant at which all that was started would have been due, were it evenly spaced. */
  #dueAtMs = -Infinity;

  constructor(periodMs: number, burst: number) {
    this.periodMs = periodMs;
    this.burst = burst;
  }

  /** Another period from now on; what is left to wait shrinks or grows with it. */
  retime(nowMs: number, periodMs: number): void {
    const leftMs = this.#dueAtMs - nowMs;
    if (leftMs > 0 && this.periodMs > 0) {
      this.#dueAtMs = nowMs + (leftMs * periodMs) / this.periodMs;
    }
    this.periodMs = periodMs;
  }

  /** The earliest instant of a start with `ahead` starts before it; may be a fraction of a ms. */
  opensAtMs(nowMs: number, ahead: number): number {
    const dueAtMs = Math.max(this.#dueAtMs, nowMs) + (ahead + 1 - this.burst) * this.periodMs;
    return Math.max(nowMs, dueAtMs);
  }

  /** One start, of `amount` units where the period is that of a unit. */
  take(nowMs: number, amount = 1): void {
    // Instants are whole ms: a start in the ms of its due instant is no later than due.
    const fromMs = this.#dueAtMs > nowMs - 1 ? this.#dueAtMs : nowMs;
    this.#dueAtMs = fromMs + amount * this.periodMs;
  }

  /** No stored burst: the next start is a period away. */
  drain(nowMs: number, starts: number): void {
    const fromMs = Math.max(this.#dueAtMs, nowMs);
    this.#dueAtMs = Math.max(fromMs, nowMs + (this.burst - 1 + starts) * this.periodMs);
  }
}
