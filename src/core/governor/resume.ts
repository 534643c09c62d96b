/**
 * The first moments after a hold: waiters start at the pace at which the upstream accepted calls
 * before, not all at once. It ends by itself, sooner than the hold lasted and in two seconds at
 * most.
 */
import { Pacer } from './pacer.ts';

const PER_SECOND_MIN = 1;
const LASTS_MS_MAX = 2000;

export class Resume {
  readonly #pacer = new Pacer(0, 1);
  fromMs = -Infinity;
  untilMs = -Infinity;

  begin(nowMs: number, heldMs: number, perSecond: number): void {
    this.#pacer.periodMs = 1000 / Math.max(perSecond, PER_SECOND_MIN);
    this.#pacer.take(nowMs);
    this.fromMs = nowMs;
    this.untilMs = nowMs + Math.min(LASTS_MS_MAX, heldMs);
  }

  opensAtMs(nowMs: number): number {
    if (nowMs >= this.untilMs) return nowMs;
    return Math.min(this.untilMs, Math.ceil(this.#pacer.opensAtMs(nowMs, 0)));
  }

  started(nowMs: number): void {
    if (nowMs < this.untilMs) this.#pacer.take(nowMs);
  }
}
