/**
 * A hold on all starts until an instant, as the upstream asked for. Several hints merge by the
 * latest instant, never by sum; what is added is a few percent at most and only ever positive, so
 * that a hint is never cut short and waiters of several servers do not wake together.
 */
const JITTER_SHARE = 0.05;

export class Pause {
  fromMs = -Infinity;
  untilMs = -Infinity;

  /** Holds for `hintMs`, at most `maxMs`; says whether that made the pause longer. */
  extend(nowMs: number, hintMs: number, limits: { maxMs: number; random: () => number }): boolean {
    if (!(hintMs > 0)) return false;
    const heldMs = Math.min(hintMs * (1 + JITTER_SHARE * limits.random()), limits.maxMs);
    return this.until(nowMs, nowMs + Math.ceil(heldMs));
  }

  until(nowMs: number, untilMs: number): boolean {
    if (untilMs <= this.untilMs) return false;
    if (nowMs >= this.untilMs) this.fromMs = nowMs;
    this.untilMs = untilMs;
    return true;
  }

  /** Ends at `untilMs` at the latest; says until when it held. */
  cap(untilMs: number): number {
    const heldUntilMs = this.untilMs;
    if (untilMs < heldUntilMs) this.untilMs = untilMs;
    return heldUntilMs;
  }
}
