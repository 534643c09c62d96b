/**
 * Moments in which starts go one by one, evenly spaced: after a hold at the pace at which the
 * upstream accepted calls before, and while one more is tried where few are in flight. It ends by
 * itself.
 */
import { Pacer } from './pacer.ts';

const PER_SECOND_MIN = 1;
const HOLD_MS_MAX = 2000;
/** While one more is tried: for half a call, but so long at least and at most... */
const TRIAL_CALLS = 1 / 2;
const TRIAL_MS_MIN = 2000;
const TRIAL_MS_MAX = 30_000;
/** ...and nearly as far apart as starts are when the level is full. */
const TRIAL_DISTANCE_SHARE = 0.9;

export type SpacingCause = 'hold' | 'trial';

export class Spacing {
  readonly #pacer = new Pacer(0, 1);
  cause: SpacingCause = 'hold';
  fromMs = -Infinity;
  untilMs = -Infinity;

  /** Sooner over than the hold lasted: `heldMs`. */
  afterHold(nowMs: number, heldMs: number, perSecond: number): void {
    this.#pacer.periodMs = 1000 / Math.max(perSecond, PER_SECOND_MIN);
    this.#pacer.take(nowMs);
    this.#begin('hold', nowMs, Math.min(HOLD_MS_MAX, heldMs));
  }

  /**
   * While `level` are tried, whose starts are `distanceMs` apart where it is full: two at once may
   * be too fast for an upstream that carries both, and would look like too many.
   */
  forTrial(nowMs: number, level: number, distanceMs: number): void {
    this.#pacer.periodMs = TRIAL_DISTANCE_SHARE * distanceMs;
    this.#pacer.clear();
    const lastsMs = Math.max(TRIAL_MS_MIN, TRIAL_CALLS * level * distanceMs);
    this.#begin('trial', nowMs, Math.min(TRIAL_MS_MAX, lastsMs));
  }

  opensAtMs(nowMs: number): number {
    if (nowMs >= this.untilMs) return nowMs;
    return Math.min(this.untilMs, Math.ceil(this.#pacer.opensAtMs(nowMs, 0)));
  }

  started(nowMs: number): void {
    if (nowMs < this.untilMs) this.#pacer.take(nowMs);
  }

  #begin(cause: SpacingCause, nowMs: number, lastsMs: number): void {
    this.cause = cause;
    this.fromMs = nowMs;
    this.untilMs = nowMs + lastsMs;
  }
}
