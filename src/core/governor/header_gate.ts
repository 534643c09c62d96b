/**
 * All that an upstream's rate headers say: the budgets of the binding windows of starts and of
 * tokens, and every window told beside them. Each part is made when such headers come, for most
 * upstreams have none.
 */
import type { Outcome, RateReading, RateWindow } from '../outcome.ts';
import { CEILINGS } from '../../ceilings.ts';
import type { BudgetUnit, Saved, SavedWindow, Start } from './governor.ts';
import {
  type Budget,
  DISTRUST_MS,
  HeaderBudget,
  LITTLE_SHARE,
  type ReadAt,
  type WindowState,
} from './header_budget.ts';
import { HeaderWindows } from './header_windows.ts';

/** What is kept of headers over a restart. */
type SavedHeaders = Pick<Saved, 'windows' | 'distrustedUntilMs'>;

export class HeaderGate {
  requests: HeaderBudget | null = null;
  tokens: HeaderBudget | null = null;
  #windows: HeaderWindows | null = null;
  /** The first start that it saw: what those before it took is in what was told, or saved. */
  #firstSequence = Infinity;

  read(nowMs: number, reading: RateReading, at: ReadAt): void {
    if (reading.remaining !== undefined) {
      this.requests ??= new HeaderBudget('starts');
      this.requests.read(nowMs, reading, at);
    }
    const windows = reading.windows ?? withoutReset(reading);
    if (windows !== undefined) {
      this.#windows ??= new HeaderWindows();
      this.#windows.read(nowMs, windows, at);
    }
    if (reading.tokenRemaining === undefined) return;
    this.tokens ??= new HeaderBudget('tokens');
    this.tokens.read(nowMs, {
      limit: reading.tokenLimit,
      remaining: reading.tokenRemaining,
      resetMs: reading.tokenResetMs,
      refills: reading.tokenRefills,
      windowMs: reading.windows?.find(({ unit }) => unit === 'tokens')?.windowMs,
    }, at);
  }

  /** What to keep over a restart: the windows that run, and whether they are believed. */
  save(nowMs: number): SavedHeaders {
    const windows = [
      ...bindingOf('starts', this.requests?.save(nowMs)),
      ...bindingOf('tokens', this.tokens?.save(nowMs)),
      ...this.#windows?.save(nowMs) ?? [],
    ];
    const distrustedUntilMs = this.requests?.distrustedUntilMs(nowMs) ?? null;
    return {
      ...(windows.length > 0 && { windows }),
      ...(distrustedUntilMs !== null && { distrustedUntilMs }),
    };
  }

  /**
   * Goes on from what an earlier process saved. No window runs longer from now than it ran from
   * then, nor than any may, whatever the wall clock did meanwhile.
   */
  seed(nowMs: number, saved: SavedHeaders & Pick<Saved, 'atMs'>, at: ReadAt): void {
    const { atMs, windows = [], distrustedUntilMs: untilMs } = saved;
    for (const window of windows) {
      const leftMs = Math.min(window.resetAtMs - nowMs, window.resetAtMs - atMs);
      if (leftMs <= 0 || leftMs > CEILINGS.resetMs) continue;
      this.#seedWindow(nowMs, { ...window, resetAtMs: nowMs + leftMs }, at);
    }
    if (untilMs === undefined || untilMs <= nowMs) return;
    this.requests ??= new HeaderBudget('starts');
    this.requests.distrust(Math.min(untilMs, nowMs + DISTRUST_MS));
  }

  #seedWindow(nowMs: number, window: SavedWindow, at: ReadAt): void {
    if (window.key !== null) {
      this.#windows ??= new HeaderWindows();
      this.#windows.seed(window.key, window, at);
      return;
    }
    const budget = new HeaderBudget(window.unit);
    budget.seed(nowMs, window, at);
    if (window.unit === 'starts') this.requests = budget;
    else this.tokens = budget;
  }

  started(nowMs: number, start: Start): void {
    const { tokens, sequence } = start;
    if (sequence < this.#firstSequence) this.#firstSequence = sequence;
    this.requests?.started(nowMs, start, 1);
    this.#windows?.started('starts', 1);
    if (tokens === 0) return;
    this.tokens?.started(nowMs, start, tokens);
    this.#windows?.started('tokens', tokens);
  }

  /** A call ended, which used `tokens` of those that it reserved; unsent it used nothing. */
  ended(nowMs: number, start: Start, { kind, tokens = start.tokens }: Outcome): void {
    if (start.sequence < this.#firstSequence) return;
    const isUnsent = kind === 'unsent';
    const starts = { reserved: 1, used: isUnsent ? 0 : 1 };
    this.requests?.ended(nowMs, start, starts);
    this.#windows?.ended(start, 'starts', starts);
    if (start.tokens === 0) return;
    const units = { reserved: start.tokens, used: isUnsent ? 0 : tokens };
    this.tokens?.ended(nowMs, start, units);
    this.#windows?.ended(start, 'tokens', units);
  }

  /** The earliest instant at which the headers leave a start, with `ahead` starts before it. */
  opensAtMs(nowMs: number, ahead: number): number {
    const pacedAtMs = this.requests?.opensAtMs(nowMs, 1, ahead) ?? nowMs;
    return Math.max(pacedAtMs, this.#stoppedUntilMs(nowMs, 'starts', 1 + ahead) ?? nowMs);
  }

  tokensOpenAtMs(nowMs: number, tokens: number): number {
    if (tokens <= 0) return nowMs;
    const pacedAtMs = this.tokens?.opensAtMs(nowMs, tokens, 0) ?? nowMs;
    return Math.max(pacedAtMs, this.#stoppedUntilMs(nowMs, 'tokens', tokens) ?? nowMs);
  }

  /**
   * The same of both, but for buckets that refill, for any answer may tell more of those, and for
   * tokens that running calls may give back.
   */
  firmAtMs(nowMs: number, tokens: number, ahead: number): number {
    return Math.max(
      this.requests?.refills === true ? nowMs : this.opensAtMs(nowMs, ahead),
      this.#tokensFirmAtMs(nowMs, tokens),
    );
  }

  #tokensFirmAtMs(nowMs: number, tokens: number): number {
    if (tokens <= 0 || this.tokens?.refills === true) return nowMs;
    const budgetAtMs = this.tokens?.firmAtMs(nowMs, tokens) ?? nowMs;
    if (this.#windows === null || !this.#areTrusted(nowMs)) return budgetAtMs;
    return Math.max(budgetAtMs, this.#windows.firmUntilMs(nowMs, 'tokens', tokens) ?? nowMs);
  }

  /** Until when no start is left; null where one is. */
  exhaustedUntilMs(nowMs: number): number | null {
    const budgetMs = this.requests?.exhaustedUntilMs(nowMs, 1) ?? null;
    const windowMs = this.#stoppedUntilMs(nowMs, 'starts', 1);
    return budgetMs === null ? windowMs : Math.max(budgetMs, windowMs ?? budgetMs);
  }

  /** Starts that are left now, as far as is known. */
  remaining(nowMs: number): number | null {
    const budget = this.requests?.remaining(nowMs) ?? null;
    const window = this.#areTrusted(nowMs) ? this.#windows?.remaining(nowMs, 'starts') : null;
    return budget === null ? window ?? null : Math.min(budget, window ?? budget);
  }

  /**
   * A refusal by rate came, of a call that asked for `tokens`: were the headers wrong? Not where
   * they explain it themselves, by whichever unit or window is about used up.
   */
  contradicted(nowMs: number, reading: RateReading = {}, tokens = 0): void {
    const { remaining, tokenLimit, tokenRemaining = Infinity, windows = [] } = reading;
    const isForTokens = tokenRemaining < tokens ||
      isUsedUp({ limit: tokenLimit, remaining: tokenRemaining });
    if (isForTokens || windows.some(isUsedUp)) return;
    this.requests?.contradicted(nowMs, remaining);
  }

  #stoppedUntilMs(nowMs: number, unit: BudgetUnit, amount: number): number | null {
    if (this.#windows === null || !this.#areTrusted(nowMs)) return null;
    return this.#windows.exhaustedUntilMs(nowMs, unit, amount);
  }

  #areTrusted(nowMs: number): boolean {
    return this.requests?.isTrusted(nowMs) ?? true;
  }
}

/** Whether what is left of something is next to nothing; where that is not told, it is not. */
function isUsedUp(window: Budget & Pick<RateWindow, 'usedPercent'>): boolean {
  const { limit = 0, remaining = Infinity, usedPercent = 0 } = window;
  return remaining <= LITTLE_SHARE * limit || usedPercent >= 100 * (1 - LITTLE_SHARE);
}

/** The one window of a reading that the budget cannot take: used up, and no reset is told. */
function withoutReset(reading: RateReading): readonly RateWindow[] | undefined {
  const { limit, remaining, resetMs, windowMs } = reading;
  if (remaining !== 0 || resetMs !== undefined || windowMs === undefined) return undefined;
  return [{ remaining, windowMs, ...(limit !== undefined && { limit }) }];
}

/** The binding window of a unit, where one runs. */
function bindingOf(unit: BudgetUnit, state: WindowState | null | undefined): SavedWindow[] {
  return state ? [{ unit, key: null, ...state }] : [];
}
