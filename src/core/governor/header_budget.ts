/**
 * What the upstream's own headers leave for the rest of its window, spread evenly over it. Headers
 * may be late, shared with others, or wrong: what is left only ever goes down within a window, and
 * a refusal while plenty was left puts them out of use for ten minutes. It paces and stops; it
 * never raises anything.
 */
import { CEILINGS } from '../../ceilings.ts';
import type { BudgetUnit, SavedWindow, Start } from './governor.ts';
import { Pacer } from './pacer.ts';
import { type CallUnits, UnitsLeft } from './units_left.ts';
import { SAME_WINDOW_MS, WindowLengths } from './window_lengths.ts';

const BURST = 2;
const PACED_RESET_MS_MAX = 3_600_000;
/** How much one call changes what is expected of the next. */
const USED_GAIN = 0.1;
const USED_SHARE_MAX = 10;
/** A report of the window before comes this late at most. */
const LATE_MS_MAX = 10_000;
const RESET_JITTER_MS_MIN = 50;
const RESET_JITTER_MS_MAX = 250;
export const DISTRUST_MS = 600_000;
/** So small a share that is left is none to speak of: the calls in flight may have taken it. */
export const LITTLE_SHARE = 0.05;

export interface Budget {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetMs?: number | undefined;
  readonly windowMs?: number | undefined;
  readonly refills?: boolean | undefined;
  /** What it is a limit of, where the upstream says so. */
  readonly scope?: string | undefined;
}

/** What a reading is taken with: chance, and the newest start by then. */
export interface ReadAt {
  readonly random: () => number;
  readonly sequence: number;
}

/** A {@link SavedWindow} without what tells it from others. */
export type WindowState = Omit<SavedWindow, 'unit' | 'key'>;

export class HeaderBudget {
  /** Since when the headers have been read, or were distrusted last. */
  sinceMs = -Infinity;
  readonly #lengths = new WindowLengths();
  /** The window that was reported last, by its limit and name. */
  #key = '';
  #limit: number | null = null;
  readonly #left = new UnitsLeft();
  /** What calls use of what they reserve: the pace counts with that, the stop does not. */
  #usedShare = 1;
  #resetAtMs = -Infinity;
  #windowMs = 0;
  /** Whether the window is a bucket that fills bit by bit: its length is a guess for the pace. */
  #refills = false;
  /** When a window was over that the one before had told. */
  #turnedAtMs = -Infinity;
  #jitterMs = RESET_JITTER_MS_MIN;
  #distrustedUntilMs = -Infinity;
  #pacer: Pacer;

  constructor(unit: BudgetUnit) {
    this.#pacer = new Pacer(0, unit === 'starts' ? BURST : 1);
  }

  /** Whether it fills bit by bit, so that more may be left before it resets. */
  get refills(): boolean {
    return this.#refills;
  }

  isTrusted(nowMs: number): boolean {
    return nowMs >= this.#distrustedUntilMs;
  }

  /** Until when the headers are not believed; null where they are. */
  distrustedUntilMs(nowMs: number): number | null {
    return this.isTrusted(nowMs) ? null : this.#distrustedUntilMs;
  }

  distrust(untilMs: number): void {
    this.#distrustedUntilMs = untilMs;
    this.sinceMs = untilMs;
  }

  /** The window as it stands; null where none runs. */
  save(nowMs: number): WindowState | null {
    if (this.#limit === null || nowMs >= this.#resetAtMs) return null;
    return {
      limit: this.#limit,
      remaining: Math.max(0, this.#left.amount),
      resetAtMs: this.#resetAtMs,
      windowMs: this.#refills ? 0 : this.#windowMs,
    };
  }

  /** Goes on with a window that an earlier process saved. */
  seed(nowMs: number, state: WindowState, at: ReadAt): void {
    const { limit, remaining, resetAtMs, windowMs } = state;
    const resetMs = resetAtMs - nowMs;
    const length = windowMs === 0 ? { refills: true } : { windowMs };
    this.read(nowMs, { limit, remaining, resetMs, ...length }, at);
  }

  /** Units a minute that the headers speak of, where they are in use. */
  perMinute(nowMs: number): number | null {
    return this.isTrusted(nowMs) ? this.#lengths.perMinute(nowMs, PACED_RESET_MS_MAX) : null;
  }

  /** Units that are left in the window, as far as is known. */
  remaining(nowMs: number): number | null {
    if (this.#limit === null || !this.isTrusted(nowMs)) return null;
    return nowMs < this.#resetAtMs ? Math.max(0, this.#left.amount) : this.#limit;
  }

  /** The instant until which the headers leave less than `amount`; null where they leave it. */
  exhaustedUntilMs(nowMs: number, amount: number): number | null {
    if (this.#limit === null || !this.isTrusted(nowMs)) return null;
    if (this.#left.amount >= Math.min(amount, this.#limit)) return null;
    const untilMs = this.#resetAtMs + this.#jitterMs;
    return nowMs < untilMs ? untilMs : null;
  }

  read(nowMs: number, budget: Budget, at: ReadAt): void {
    const { limit: told, remaining, resetMs, windowMs, scope: name = '', refills = false } = budget;
    if (remaining === undefined || resetMs === undefined) return;
    const resetAtMs = nowMs + resetMs;
    const key = `${told ?? ''} ${name}`;
    const isOther = this.#limit === null || key !== this.#key;
    if (!isOther && this.#isLateReport(nowMs, resetMs)) return;
    if (this.#limit === null) this.sinceMs = nowMs;
    // A limit of 0 is none that starts could keep.
    const limit = told || Math.max(isOther ? 0 : this.#limit ?? 0, remaining, 1);
    const isSame = !isOther && Math.abs(resetAtMs - this.#resetAtMs) <= SAME_WINDOW_MS;
    this.#key = key;
    this.#limit = limit;
    this.#refills = refills && windowMs === undefined;
    this.#windowMs = this.#lengths.note(nowMs, { key, name, limit, resetMs, windowMs, refills });
    if (isSame) this.#left.tellAgain(remaining, at);
    else this.#left.tell(remaining, at);
    if (!isSame) {
      if (nowMs >= this.#resetAtMs && this.#resetAtMs > -Infinity) this.#turnedAtMs = nowMs;
      this.#jitterMs = resetJitterMs(at.random);
      this.#resetAtMs = resetAtMs;
    }
    this.#pace(nowMs);
  }

  opensAtMs(nowMs: number, amount: number, ahead: number): number {
    const limit = this.#limit;
    if (limit === null || !this.isTrusted(nowMs)) return nowMs;
    // The pace of a window ends with it, and so does what is left in it.
    const windowEndMs = this.#resetAtMs + this.#jitterMs;
    if (nowMs >= windowEndMs) return nowMs + this.#nextWindowMs(limit, ahead);
    if (this.#left.amount - ahead >= Math.min(amount, limit)) {
      return Math.min(Math.ceil(this.#pacer.opensAtMs(nowMs, ahead)), windowEndMs);
    }
    const aheadOfNext = Math.max(0, ahead - Math.max(0, Math.floor(this.#left.amount)));
    return windowEndMs + this.#nextWindowMs(limit, aheadOfNext);
  }

  /**
   * As {@link opensAtMs}, but for what running calls may give back, and for the pace, which each
   * call that ends may quicken.
   */
  firmAtMs(nowMs: number, amount: number): number {
    const limit = this.#limit;
    if (limit === null || !this.isTrusted(nowMs)) return nowMs;
    if (this.#left.mayHold(Math.min(amount, limit))) return nowMs;
    return Math.max(nowMs, this.#resetAtMs + this.#jitterMs);
  }

  started(nowMs: number, start: Start, amount: number): void {
    if (this.#limit === null) return;
    if (nowMs >= this.#resetAtMs) this.#turn(nowMs, this.#limit, start);
    this.#left.started(amount);
    this.#pacer.take(nowMs, amount);
    this.#pace(nowMs);
  }

  ended(nowMs: number, start: Start, units: CallUnits): void {
    if (this.#limit === null) return;
    this.#left.ended(start, units);
    const { reserved, used } = units;
    if (used > 0) {
      const share = Math.min(USED_SHARE_MAX, used / reserved);
      this.#usedShare += USED_GAIN * (share - this.#usedShare);
    }
    this.#pace(nowMs);
  }

  /** A refusal by rate came that nothing else explains: is it for want of these units? */
  contradicted(nowMs: number, remaining: number | undefined): void {
    if (this.#limit === null || !this.isTrusted(nowMs)) return;
    if ((remaining ?? this.#left.amount) <= LITTLE_SHARE * this.#limit) return;
    this.distrust(nowMs + DISTRUST_MS);
  }

  /** A window is over: until the first report of the next it is taken for one like the last. */
  #turn(nowMs: number, limit: number, start: Start): void {
    this.#turnedAtMs = nowMs;
    this.#left.tell(limit, { sequence: start.sequence - 1 });
    this.#resetAtMs = nowMs + this.#windowMs;
    this.#pacer.clear();
  }

  /** A report of the window before the one that runs. */
  #isLateReport(nowMs: number, resetMs: number): boolean {
    return resetMs < SAME_WINDOW_MS && nowMs + resetMs < this.#resetAtMs - SAME_WINDOW_MS &&
      nowMs - this.#turnedAtMs < LATE_MS_MAX;
  }

  #pace(nowMs: number): void {
    const leftMs = this.#resetAtMs - nowMs;
    if (leftMs > PACED_RESET_MS_MAX) this.#pacer.retime(nowMs, 0);
    else if (leftMs > 0) {
      this.#pacer.retime(nowMs, (this.#usedShare * leftMs) / Math.max(1, this.#left.amount));
    } else this.#pacer.retime(nowMs, this.#fullPeriodMs(this.#limit ?? 1));
  }

  /** Ms from the begin of a window in which nothing is used to a start with `ahead` before it. */
  #nextWindowMs(limit: number, ahead: number): number {
    return Math.ceil(Math.max(0, ahead + 1 - this.#pacer.burst) * this.#fullPeriodMs(limit));
  }

  /** Ms from one unit to the next where the whole limit is spread over a window. */
  #fullPeriodMs(limit: number): number {
    if (this.#windowMs > PACED_RESET_MS_MAX) return 0;
    return Math.min(CEILINGS.resetMs, (this.#usedShare * this.#windowMs) / limit);
  }
}

/** What is added to a reset, so that waiters of several servers do not wake together. */
export function resetJitterMs(random: () => number): number {
  return RESET_JITTER_MS_MIN + Math.ceil(random() * (RESET_JITTER_MS_MAX - RESET_JITTER_MS_MIN));
}
