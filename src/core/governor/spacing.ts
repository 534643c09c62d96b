/**
 * Moments in which starts go one by one, evenly spaced: after a hold at the pace at which the
 * upstream accepted calls before, and while one more is tried where few are in flight. It ends by
 * itself, in two seconds at most.
 */
import { Pacer } from './pacer.ts';

const PER_SECOND_MIN = 1;
const LASTS_MS_MAX = 2000;

export type SpacingCause = 'hold' | 'trial';

export class Spacing {
  readonly #pacer = new Pacer(0, 1);
  cause: SpacingCause = 'hold';
  fromMs = -Infinity;
  untilMs = -Infinity;

  /** Sooner over than the hold lasted: `heldMs`. */
  afterHold(nowMs: number, heldMs: number, perSecond: number): void {
    this.#begin('hold', nowMs, { lastsMs: Math.min(LASTS_MS_MAX, heldMs), perSecond });
  }

  /**
   * Where calls were accepted at `perSecond`: starts keep half of their mean distance. Two at once
   * may be too fast for an upstream that carries both, and would look like too many.
   */
  forTrial(nowMs: number, perSecond: number): void {
    this.#begin('trial', nowMs, { lastsMs: LASTS_MS_MAX, perSecond: 2 * perSecond });
  }

  opensAtMs(nowMs: number): number {
    if (nowMs >= this.untilMs) return nowMs;
    return Math.min(this.untilMs, Math.ceil(this.#pacer.opensAtMs(nowMs, 0)));
  }

  started(nowMs: number): void {
    if (nowMs < this.untilMs) this.#pacer.take(nowMs);
  }

  #begin(
    cause: SpacingCause,
    nowMs: number,
    { lastsMs, perSecond }: { lastsMs: number; perSecond: number },
  ): void {
    this.#pacer.periodMs = 1000 / Math.max(perSecond, PER_SECOND_MIN);
    this.#pacer.take(nowMs);
    this.cause = cause;
    this.fromMs = nowMs;
    this.untilMs = nowMs + lastsMs;
  }
}
