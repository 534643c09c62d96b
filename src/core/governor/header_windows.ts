/**
 * The windows that an upstream reports side by side: each stops starts, or tokens, once nothing is
 * left in it, whichever of them binds. Pacing is the budget's affair, which sees the binding one
 * alone. What is left only goes down within a window; a window that is over says nothing.
 */
import type { RateWindow } from '../outcome.ts';
import type { BudgetUnit, SavedWindow } from './governor.ts';
import { resetJitterMs } from './header_budget.ts';
import { SAME_WINDOW_MS } from './window_lengths.ts';

/** A day that is used up may end at any time: the next call tells. */
const GUESSED_RESET_MS_MAX = 60_000;
/** More than any upstream reports of what has a gate; the rest is not kept. */
const WINDOWS_MAX = 8;

interface Held {
  readonly key: string;
  readonly unit: BudgetUnit;
  limit: number;
  remaining: number;
  resetAtMs: number;
  untilMs: number;
}

export class HeaderWindows {
  #held: Held[] = [];

  read(nowMs: number, windows: readonly RateWindow[], random: () => number): void {
    this.#held = this.#held.filter(({ untilMs }) => nowMs < untilMs);
    for (const window of windows) this.#note(nowMs, window, random);
  }

  started(unit: BudgetUnit, amount: number): void {
    for (const held of this.#held) {
      if (held.unit === unit) held.remaining -= amount;
    }
  }

  /** The instant until which some window leaves less than `amount`; null where all leave it. */
  exhaustedUntilMs(nowMs: number, unit: BudgetUnit, amount: number): number | null {
    let latestMs: number | null = null;
    for (const { unit: held, limit, remaining, untilMs } of this.#held) {
      if (held !== unit || nowMs >= untilMs || remaining >= Math.min(amount, limit)) continue;
      latestMs = Math.max(latestMs ?? 0, untilMs);
    }
    return latestMs;
  }

  /** The windows as they stand, those that run. */
  save(nowMs: number): SavedWindow[] {
    return this.#held
      .filter(({ resetAtMs }) => nowMs < resetAtMs)
      .map(({ unit, key, limit, remaining, resetAtMs }) => (
        { unit, key, limit, remaining: Math.max(0, remaining), resetAtMs, windowMs: 0 }
      ));
  }

  /** Goes on with a window that an earlier process saved. */
  seed(key: string, { unit, limit, remaining, resetAtMs }: SavedWindow, random: () => number) {
    const untilMs = resetAtMs + resetJitterMs(random);
    this.#hold({ key, unit, limit, remaining, resetAtMs, untilMs });
  }

  /** Units left in the fullest window; null where none is known. */
  remaining(nowMs: number, unit: BudgetUnit): number | null {
    const left = this.#held
      .filter((held) => held.unit === unit && nowMs < held.resetAtMs)
      .map((held) => Math.max(0, held.remaining));
    return left.length === 0 ? null : Math.min(...left);
  }

  #note(nowMs: number, window: RateWindow, random: () => number): void {
    const { name = '', unit: told = 'requests', windowMs = '', remaining } = window;
    if (told !== 'requests' && told !== 'tokens') return;
    const resetMs = resetMsOf(window);
    if (remaining === undefined || resetMs === undefined) return;
    const key = `${told} ${name} ${windowMs} ${window.limit ?? ''}`;
    const resetAtMs = nowMs + resetMs;
    const limit = window.limit || Math.max(remaining, 1);
    const known = this.#held.find((held) => held.key === key);
    // Without a reset it is the first report of a used up window that tells the latest one.
    const isTold = known !== undefined && known.remaining <= 0 && nowMs < known.resetAtMs;
    if (window.resetMs === undefined && isTold) return;
    const untilMs = resetAtMs + resetJitterMs(random);
    if (known === undefined) {
      const unit = told === 'tokens' ? 'tokens' : 'starts';
      return this.#hold({ key, unit, limit, remaining, resetAtMs, untilMs });
    }
    const isLate = resetAtMs < known.resetAtMs - SAME_WINDOW_MS && resetMs < SAME_WINDOW_MS;
    if (isLate) return;
    if (Math.abs(resetAtMs - known.resetAtMs) <= SAME_WINDOW_MS) {
      known.remaining = Math.min(known.remaining, remaining);
      return;
    }
    Object.assign(known, { limit, remaining, resetAtMs, untilMs });
  }

  #hold(held: Held): void {
    if (this.#held.length < WINDOWS_MAX) this.#held.push(held);
  }
}

/**
 * Ms until a window resets. Where none is told of a used up one, it is over once its length has
 * passed, or asked for again; of one with some left nothing is known.
 */
function resetMsOf({ remaining, resetMs, windowMs }: RateWindow): number | undefined {
  if (resetMs !== undefined || remaining !== 0 || windowMs === undefined) return resetMs;
  return Math.min(windowMs, GUESSED_RESET_MS_MAX);
}
