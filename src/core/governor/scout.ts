/**
 * After refusals that do not end, one start at a time finds out when the upstream takes calls
 * again; everyone else stays queued, so no herd forms. Regimes: not scouting; waiting for the next
 * try; one try in flight. Waits grow to 15 s, and to 5 minutes once scouting has lasted so long
 * that a quota must be used up.
 */
const WAIT_FIRST_MS = 500;
const WAIT_GROWTH = 1.6;
const WAIT_MS_MAX = 15_000;
const QUOTA_AFTER_MS = 120_000;
const QUOTA_WAIT_MS_MAX = 300_000;
const JITTER_SHARE = 0.05;
const TURNAROUND_MS_MIN = 50;
const TURNAROUND_MS_MAX = 2000;
const PRESUMED_AFTER_TURNAROUNDS = 2;

export class Scout {
  sinceMs = Infinity;
  nextAtMs = Infinity;
  /** How long a refusal takes to come back; a try unrefused for longer counts as accepted. */
  turnaroundMs = TURNAROUND_MS_MIN;
  #startedAtMs = 0;
  /** Tries that were refused since scouting began. */
  refusals = 0;
  /** It began with a pause that the upstream asked for, and no try was refused since. */
  isAfterPause = false;
  #sequence: number | null = null;
  /** Refusals that no longer count for the wait, once a window's end was tried. */
  #windowTries = 0;

  get isActive(): boolean {
    return this.sinceMs !== Infinity;
  }

  get isInFlight(): boolean {
    return this.#sequence !== null;
  }

  /** When the next start may go: the try itself, or all once the try in flight is presumed well. */
  opensAtMs(nowMs: number): number {
    if (!this.isActive) return nowMs;
    return this.isInFlight ? this.presumedAtMs : this.nextAtMs;
  }

  isQuota(nowMs: number): boolean {
    return nowMs - this.sinceMs > QUOTA_AFTER_MS;
  }

  owns(sequence: number): boolean {
    return this.#sequence === sequence;
  }

  enter(nowMs: number, random: () => number): void {
    if (this.isActive) return;
    this.sinceMs = nowMs;
    this.refusals = 0;
    this.isAfterPause = false;
    this.#sequence = null;
    this.nextAtMs = nowMs + Math.ceil(WAIT_FIRST_MS * (1 + JITTER_SHARE * random()));
  }

  /** After a pause there is one start first; an earlier plan to try is kept back until then. */
  enterAfterPause(nowMs: number, untilMs: number): void {
    if (!this.isActive) {
      this.sinceMs = nowMs;
      this.refusals = 0;
      this.isAfterPause = true;
      this.nextAtMs = untilMs;
    } else if (this.nextAtMs < untilMs) this.nextAtMs = untilMs;
  }

  /** A pause ends sooner than it was to: so does the wait for its end. */
  pauseCapped(fromMs: number, untilMs: number): void {
    if (this.nextAtMs === fromMs) this.nextAtMs = untilMs;
  }

  started(nowMs: number, sequence: number): void {
    this.#sequence = sequence;
    this.#startedAtMs = nowMs;
  }

  /** The start of the try that is in flight. */
  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  /** When the try in flight counts as accepted. */
  get presumedAtMs(): number {
    return this.#startedAtMs + Math.ceil(PRESUMED_AFTER_TURNAROUNDS * this.turnaroundMs);
  }

  noteTurnaround(ms: number): void {
    const eased = 0.9 * this.turnaroundMs;
    this.turnaroundMs = Math.min(TURNAROUND_MS_MAX, Math.max(TURNAROUND_MS_MIN, eased, ms));
  }

  /** A try was refused; `windowEndMs` is an instant worth a try of its own. */
  refused(nowMs: number, startedAtMs: number, plan: { random: () => number; windowEndMs: number }) {
    this.#sequence = null;
    this.refusals += 1;
    this.isAfterPause = false;
    const waitMsMax = this.isQuota(nowMs) ? QUOTA_WAIT_MS_MAX : WAIT_MS_MAX;
    const elapsedMs = nowMs - this.sinceMs;
    const isPastWindow = startedAtMs >= plan.windowEndMs && this.#windowTries === 0;
    if (isPastWindow) this.#windowTries = this.refusals - 3;
    const ownMs = this.isQuota(nowMs)
      ? elapsedMs * (WAIT_GROWTH - 1)
      : WAIT_FIRST_MS * WAIT_GROWTH ** (this.refusals - this.#windowTries);
    const waitMs = Math.min(ownMs, waitMsMax) * (1 + JITTER_SHARE * plan.random());
    const nextAtMs = nowMs + Math.ceil(waitMs);
    const isWorth = plan.windowEndMs > nowMs && plan.windowEndMs < nextAtMs;
    this.nextAtMs = isWorth ? plan.windowEndMs : nextAtMs;
  }

  /** A try ended without a verdict: the next may go at once. */
  abandoned(): void {
    this.#sequence = null;
  }

  leave(): void {
    this.sinceMs = Infinity;
    this.nextAtMs = Infinity;
    this.#sequence = null;
    this.#windowTries = 0;
  }
}
