/**
 * The operator's rates: at most `rpm` starts and `tpm` tokens in any rolling minute, `burst` of the
 * starts at once. They only ever count; nothing that is learned changes them, and nothing but time
 * and settled tokens opens them.
 */
import type { GovernorSettings, PastStart, Saved, StartsTaken, TokensTaken } from './governor.ts';
import { Pacer } from './pacer.ts';
import { RollingWindow, WINDOW_MS } from './rolling_window.ts';

/** Due instants are sums of fractions; what is this close to a whole ms is that ms. */
const ROUNDING_MS = 1e-3;

/** What an earlier process saved; the instant is that up to which its tokens tell all. */
export type SavedRates = Pick<Saved, 'atMs' | 'tokens' | 'starts'>;

export class OperatorRate {
  #starts: RollingWindow | null = null;
  #tokens: RollingWindow | null = null;
  #pacer: Pacer | null = null;

  configure(nowMs: number, { rpm, tpm, burst }: GovernorSettings['rate']): void {
    if (rpm !== (this.#starts?.capacity ?? null)) {
      this.#starts = rpm === null
        ? null
        : this.#starts?.resized(nowMs, rpm, 'starts') ?? new RollingWindow(rpm, 'starts');
    }
    if (tpm !== (this.#tokens?.capacity ?? null)) {
      this.#tokens = tpm === null
        ? null
        : this.#tokens?.resized(nowMs, tpm, 'tokens') ?? new RollingWindow(tpm, 'tokens');
    }
    if (rpm === null || burst === null || burst >= rpm) {
      this.#pacer = null;
    } else {
      this.#pacer ??= new Pacer(WINDOW_MS / rpm, burst);
      this.#pacer.periodMs = WINDOW_MS / rpm;
      this.#pacer.burst = burst;
    }
  }

  /** The earliest instant at which requests allow it, and tokens do. */
  opensAtMs(nowMs: number, ahead: number): number {
    const windowAtMs = this.#starts?.opensAtMs(nowMs, 1, ahead) ?? nowMs;
    const pacedAtMs = this.#pacer?.opensAtMs(nowMs, ahead) ?? nowMs;
    return Math.ceil(Math.max(windowAtMs, pacedAtMs) - ROUNDING_MS);
  }

  tokensOpenAtMs(nowMs: number, tokens: number): number {
    if (this.#tokens === null || tokens <= 0) return nowMs;
    return this.#tokens.opensAtMs(nowMs, tokens, 0);
  }

  /** Until when tokens are sure not to allow it, whatever running calls turn out to use. */
  tokensFirmAtMs(nowMs: number, tokens: number): number {
    if (this.#tokens === null || tokens <= 0) return nowMs;
    return this.#tokens.firmAtMs(nowMs, tokens);
  }

  startsFree(nowMs: number): number | null {
    return this.#starts?.free(nowMs) ?? null;
  }

  started(nowMs: number, tokens: number): void {
    this.#start(nowMs, 1);
    this.#tokens?.take(nowMs, tokens, tokens);
  }

  #start(nowMs: number, count: number): void {
    this.#starts?.take(nowMs, count);
    this.#pacer?.take(nowMs, count);
  }

  /** Starts that count now; undefined where they are not counted. */
  startsTaken(nowMs: number): StartsTaken[] | undefined {
    return this.#starts?.entries(nowMs);
  }

  /** Tokens that count now; undefined where they are not counted. */
  tokensTaken(nowMs: number): TokensTaken[] | undefined {
    return this.#tokens?.entries(nowMs);
  }

  /**
   * Starts that an earlier process granted, oldest first. Saved starts tell all of them. Of tokens
   * the saved say what was settled by then; the starts tell the rest as it was reserved. Each may
   * be settled lower yet: which of their calls still run is not known here.
   */
  restore(nowMs: number, rows: readonly PastStart[], saved: SavedRates): void {
    const { tokens: taken = [], starts, atMs: savedAtMs } = saved;
    for (const [atMs, amount] of taken) this.#tokens?.take(Math.min(atMs, nowMs), amount, amount);
    for (const { atMs, tokens } of rows) {
      const takenAtMs = Math.min(atMs, nowMs);
      if (starts === undefined) this.#start(takenAtMs, 1);
      if (atMs > savedAtMs) this.#tokens?.take(takenAtMs, tokens, tokens);
    }
    const most = this.#starts?.capacity ?? 0;
    for (const [atMs, count] of starts ?? []) {
      this.#start(Math.min(atMs, nowMs), Math.min(count, most));
    }
  }

  /** Counts the window as full: starts before now may have been lost. */
  fill(nowMs: number): void {
    const free = this.#starts?.free(nowMs) ?? 0;
    this.#starts?.take(nowMs, free);
  }

  /** A start came to nothing: the call was never sent. */
  unsent(nowMs: number, start: { atMs: number; tokens: number }): void {
    this.#starts?.giveBack(nowMs, start.atMs, 1);
    this.settle(nowMs, start, 0);
  }

  /** Settles what a start reserved against what it used. */
  settle(nowMs: number, start: { atMs: number; tokens: number }, used: number): void {
    this.#tokens?.settle(nowMs, start.atMs, start.tokens);
    if (used > start.tokens) this.#tokens?.take(nowMs, used - start.tokens);
    else this.#tokens?.giveBack(nowMs, start.atMs, start.tokens - used);
  }
}
