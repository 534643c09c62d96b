/**
 * The windows that an upstream reports side by side: each stops starts, or tokens, once nothing is
 * left in it, whichever of them binds. Pacing is the budget's affair, which sees the binding one
 * alone. What is left only goes down within a window; a window that is over says nothing.
 */
import type { RateWindow } from '../outcome.ts';
import type { BudgetUnit, SavedWindow, Start } from './governor.ts';
import { type ReadAt, resetJitterMs } from './header_budget.ts';
import { type CallUnits, UnitsLeft } from './units_left.ts';
import { SAME_WINDOW_MS } from './window_lengths.ts';

/** A day that is used up may end at any time: the next call tells. */
const GUESSED_RESET_MS_MAX = 60_000;
/** More than any upstream reports of what has a gate; the rest is not kept. */
const WINDOWS_MAX = 8;

interface Held {
  readonly key: string;
  readonly unit: BudgetUnit;
  limit: number;
  readonly left: UnitsLeft;
  resetAtMs: number;
  untilMs: number;
}

export class HeaderWindows {
  #held: Held[] = [];

  read(nowMs: number, windows: readonly RateWindow[], at: ReadAt): void {
    this.#held = this.#held.filter(({ untilMs }) => nowMs < untilMs);
    for (const window of windows) this.#note(nowMs, window, at);
  }

  started(unit: BudgetUnit, amount: number): void {
    for (const held of this.#held) {
      if (held.unit === unit) held.left.started(amount);
    }
  }

  ended(start: Start, unit: BudgetUnit, units: CallUnits): void {
    for (const held of this.#held) {
      if (held.unit === unit) held.left.ended(start, units);
    }
  }

  /** The instant until which some window leaves less than `amount`; null where all leave it. */
  exhaustedUntilMs(nowMs: number, unit: BudgetUnit, amount: number): number | null {
    return this.#latest(nowMs, unit, (held) => held.left.amount < Math.min(amount, held.limit));
  }

  /** The same of those alone that running calls may not open by what they give back. */
  firmUntilMs(nowMs: number, unit: BudgetUnit, amount: number): number | null {
    return this.#latest(nowMs, unit, ({ left, limit }) => !left.mayHold(Math.min(amount, limit)));
  }

  #latest(nowMs: number, unit: BudgetUnit, isShut: (held: Held) => boolean): number | null {
    let latestMs: number | null = null;
    for (const held of this.#held) {
      const { untilMs } = held;
      if (held.unit !== unit || nowMs >= untilMs || !isShut(held)) continue;
      latestMs = Math.max(latestMs ?? 0, untilMs);
    }
    return latestMs;
  }

  /** The windows as they stand, those that run. */
  save(nowMs: number): SavedWindow[] {
    return this.#held
      .filter(({ resetAtMs }) => nowMs < resetAtMs)
      .map(({ unit, key, limit, left, resetAtMs }) => (
        { unit, key, limit, remaining: Math.max(0, left.amount), resetAtMs, windowMs: 0 }
      ));
  }

  /** Goes on with a window that an earlier process saved. */
  seed(key: string, { unit, limit, remaining, resetAtMs }: SavedWindow, at: ReadAt): void {
    const untilMs = resetAtMs + resetJitterMs(at.random);
    this.#hold({ key, unit, limit, remaining, resetAtMs, untilMs }, at);
  }

  /** Units left in the fullest window; null where none is known. */
  remaining(nowMs: number, unit: BudgetUnit): number | null {
    const left = this.#held
      .filter((held) => held.unit === unit && nowMs < held.resetAtMs)
      .map((held) => Math.max(0, held.left.amount));
    return left.length === 0 ? null : Math.min(...left);
  }

  #note(nowMs: number, window: RateWindow, at: ReadAt): void {
    const { name = '', unit: told = 'requests', windowMs = '', remaining } = window;
    if (told !== 'requests' && told !== 'tokens') return;
    const resetMs = resetMsOf(window);
    if (remaining === undefined || resetMs === undefined) return;
    const key = `${told} ${name} ${windowMs} ${window.limit ?? ''}`;
    const resetAtMs = nowMs + resetMs;
    const limit = window.limit || Math.max(remaining, 1);
    const known = this.#held.find((held) => held.key === key);
    // Without a reset it is the first report of a used up window that tells the latest one.
    const isTold = known !== undefined && known.left.amount <= 0 && nowMs < known.resetAtMs;
    if (window.resetMs === undefined && isTold) return;
    const untilMs = resetAtMs + resetJitterMs(at.random);
    if (known === undefined) {
      const unit = told === 'tokens' ? 'tokens' : 'starts';
      return this.#hold({ key, unit, limit, remaining, resetAtMs, untilMs }, at);
    }
    const isLate = resetAtMs < known.resetAtMs - SAME_WINDOW_MS && resetMs < SAME_WINDOW_MS;
    if (isLate) return;
    if (Math.abs(resetAtMs - known.resetAtMs) <= SAME_WINDOW_MS) {
      return known.left.tellAgain(remaining, at);
    }
    known.left.tell(remaining, at);
    Object.assign(known, { limit, resetAtMs, untilMs });
  }

  #hold(window: Omit<Held, 'left'> & { remaining: number }, at: ReadAt): void {
    if (this.#held.length === WINDOWS_MAX) return;
    const { remaining, ...held } = window;
    const left = new UnitsLeft();
    left.tell(remaining, at);
    this.#held.push({ ...held, left });
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
