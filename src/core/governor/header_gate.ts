/**
 * All that an upstream's rate headers say: the budgets of the binding windows of starts and of
 * tokens, and every window told beside them. Each part is made when such headers come, for most
 * upstreams have none.
 */
import type { RateReading } from '../outcome.ts';
import type { Start } from './governor.ts';
import { HeaderBudget } from './header_budget.ts';
import { type BudgetUnit, HeaderWindows } from './header_windows.ts';

export class HeaderGate {
  requests: HeaderBudget | null = null;
  tokens: HeaderBudget | null = null;
  #windows: HeaderWindows | null = null;

  read(nowMs: number, reading: RateReading, random: () => number): void {
    if (reading.remaining !== undefined) {
      this.requests ??= new HeaderBudget('starts');
      this.requests.read(nowMs, reading, random);
    }
    if (reading.windows !== undefined) {
      this.#windows ??= new HeaderWindows();
      this.#windows.read(nowMs, reading.windows, random);
    }
    if (reading.tokenRemaining === undefined) return;
    this.tokens ??= new HeaderBudget('tokens');
    this.tokens.read(nowMs, {
      limit: reading.tokenLimit,
      remaining: reading.tokenRemaining,
      resetMs: reading.tokenResetMs,
      windowMs: reading.windows?.find(({ unit }) => unit === 'tokens')?.windowMs,
    }, random);
  }

  started(nowMs: number, { tokens }: Start): void {
    this.requests?.started(nowMs, 1);
    this.#windows?.started('starts', 1);
    if (tokens === 0) return;
    this.tokens?.started(nowMs, tokens);
    this.#windows?.started('tokens', tokens);
  }

  /** The earliest instant at which the headers leave a start, with `ahead` starts before it. */
  opensAtMs(nowMs: number, ahead: number): number {
    const pacedAtMs = this.requests?.opensAtMs(nowMs, 1, ahead) ?? nowMs;
    return Math.max(pacedAtMs, this.#stoppedUntilMs(nowMs, 'starts', 1 + ahead) ?? nowMs);
  }

  tokensOpenAtMs(nowMs: number, tokens: number): number {
    const pacedAtMs = this.tokens?.opensAtMs(nowMs, tokens, 0) ?? nowMs;
    return Math.max(pacedAtMs, this.#stoppedUntilMs(nowMs, 'tokens', tokens) ?? nowMs);
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

  /** A refusal by rate came: were the headers wrong? */
  contradicted(nowMs: number, remaining: number | undefined): void {
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
