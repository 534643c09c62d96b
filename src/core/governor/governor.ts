/**
 * The contract of a pool's governor: the rule that moves the limit and the rate from outcomes,
 * apart from the pool that enforces them. A governor is pure: no clock, timer, I/O or randomness of
 * its own; the same calls with the same instants and the same `random` give the same state.
 * All instants are whole ms of the core's clock.
 */
import type { Outcome } from '../outcome.ts';

/** Why a start must wait: the pause, the request or token rate. Concurrency is the pool's gate. */
export type HoldReason = 'paused' | 'rate';

/** The earliest instant at which a start may happen, were nothing but time to pass. */
export type Opening =
  | { readonly kind: 'open' }
  | { readonly kind: 'shut'; readonly reason: HoldReason; readonly atMs: number };

/** What was known of a start when it was granted; the lease keeps it until it ends. */
export interface Start {
  /** Grows with every start of the server (the lease's fence). */
  readonly sequence: number;
  /** Slots in use at the grant, its own included. */
  readonly inFlight: number;
  /** LLM tokens reserved, 0 where the caller gave no estimate. */
  readonly tokens: number;
}

export interface Governor {
  /** Slots that may be held now: the effective limit. */
  readonly limit: number;
  /** The next instant at which {@link advance} has something to do; Infinity: none. */
  readonly dueAtMs: number;
  /**
   * Whether a start of `tokens` with `ahead` starts queued before it may happen now, or when at
   * the earliest. Asks only; takes nothing.
   */
  opening(nowMs: number, tokens: number, ahead: number): Opening;
  /** One start was granted: taken from every gate in one step. */
  started(nowMs: number, start: Start): void;
  /** The started work ended. */
  ended(nowMs: number, start: Start, outcome: Outcome): void;
  /** Does what is due by now (a pause is over, a probe may be tried). */
  advance(nowMs: number): void;
}
