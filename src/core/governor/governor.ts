/**
 * The contract of a pool's governor: the rule that moves the limit and the rate from outcomes,
 * apart from the pool that enforces them. A governor is pure: no clock, timer, I/O or randomness of
 * its own; the same calls with the same instants and the same `random` give the same state.
 * All instants are whole ms of the core's clock.
 */
import type { Outcome } from '../outcome.ts';
import type { PoolSettings } from '../settings.ts';

/** The parts of a pool's settings that the governor obeys. */
export type GovernorSettings = Pick<PoolSettings, 'concurrency' | 'rate'>;

/** Why a start must wait. Concurrency is the pool's own gate. */
export type HoldReason = 'paused' | 'rate';

/**
 * The earliest instant at which a start may happen, were nothing but time to pass: an end of
 * running work may open the gate earlier, or shut it for longer.
 */
export type Opening =
  | { readonly kind: 'open' }
  | { readonly kind: 'shut'; readonly reason: HoldReason; readonly atMs: number };

/** What was known of a start when it was granted; the lease keeps it until it ends. */
export interface Start {
  /** Grows with every start of the server (the lease's fence). */
  readonly sequence: number;
  /** Slots in use at the grant, its own included. */
  readonly inFlight: number;
  /** When it was granted. */
  readonly atMs: number;
  /** LLM tokens reserved, 0 where the caller gave no estimate. */
  readonly tokens: number;
}

/** A start that an earlier process granted. */
export type PastStart = Pick<Start, 'atMs' | 'tokens'>;

/** Starts a minute that are allowed, and how many of them could happen now. */
export interface RequestRate {
  readonly limit: number;
  readonly remaining: number;
}

/** The governor in the words that the status shows; instants are epoch ms, rates per minute. */
export interface GovernorStatus {
  /** The limit as configured, and the one in force. */
  readonly limit: number;
  readonly effectiveLimit: number;
  readonly rpm: number | null;
  readonly tpm: number | null;
  /** Starts that the request rate in force still allows now; null where there is none. */
  readonly rpmRemaining: number | null;
  /** The gate that holds back most now; `reason` and the rest up to `nextChangeAt` are of it. */
  readonly about: 'pause' | 'rate' | 'slots';
  /** Who set what holds back now. */
  readonly source: 'operator' | 'header' | 'learned';
  /** Why it is so, in plain words. */
  readonly reason: string;
  /** When the reason began to hold. */
  readonly since: number;
  /**
   * While starts must wait, when the next may go; else when the governor will next try more, or
   * check again. Null where nothing but calls will tell.
   */
  readonly nextChangeAt: number | null;
  /** The level at which the upstream refused last; null where none is known. */
  readonly ceiling: number | null;
  readonly refusedLastHour: number;
  readonly pausedUntil: number | null;
  /** Whether the upstream's rate headers are believed. */
  readonly trustsHeaders: boolean;
}

/** The changes of a pool that are kept, stored or not; beyond these the oldest go. */
export const CHANGES_KEPT = 1000;

/** One thing that the governor changed, for the pool's list of changes. */
export interface Change {
  readonly atMs: number;
  readonly what: 'limit' | 'rpm' | 'tpm' | 'headers' | 'pause';
  /**
   * Null: no rate; of a pause, whose ms these are (0: none), no end that is known. Of the headers
   * 1 while they are believed, else 0.
   */
  readonly from: number | null;
  readonly to: number | null;
  readonly why: string;
  readonly evidence: string;
}

/** What survives a restart; plain JSON. */
export interface Saved {
  readonly atMs: number;
  /** The level that calls led to; null where they told nothing of it. */
  readonly level: number | null;
  /** Learned starts per second, and the length of the window it was learned over. */
  readonly perSecond: number | null;
  readonly cycleMs: number;
  /** Starts per second in force, where that rate has not proven itself yet. */
  readonly trialPerSecond?: number;
  readonly pausedUntilMs: number | null;
  /** LLM tokens of the last minute as settled by then: instants and amounts, oldest first. */
  readonly tokens?: readonly TokensTaken[];
  /**
   * Starts of the last minute, where none came after them: instants and counts, oldest first. Only
   * what is saved while the server drains has them, so they tell of an orderly stop.
   */
  readonly starts?: readonly StartsTaken[];
  /** Windows of the upstream's headers that had not reset by then. */
  readonly windows?: readonly SavedWindow[];
  /** Until when the headers are not believed, where they are not. */
  readonly distrustedUntilMs?: number;
  /** Refusals of the last hour: instants and counts, oldest first. */
  readonly refusals?: readonly RefusalsCounted[];
}

export type StartsTaken = readonly [atMs: number, count: number];
export type TokensTaken = readonly [atMs: number, amount: number];
export type RefusalsCounted = readonly [atMs: number, count: number];

/** A window as the upstream's headers told it, and what was started since. */
export interface SavedWindow {
  readonly unit: BudgetUnit;
  /** Which of several told side by side; null: the binding one, which paces. */
  readonly key: string | null;
  /** Units, > 0. */
  readonly limit: number;
  /** Units, >= 0. */
  readonly remaining: number;
  readonly resetAtMs: number;
  /** Its length, 0 where it is not known. */
  readonly windowMs: number;
}

export type BudgetUnit = 'starts' | 'tokens';

export interface Governor {
  /** Slots that may be held now: the effective limit. */
  readonly limit: number;
  /** The next instant at which {@link advance} has something to do, or Infinity. */
  readonly dueAtMs: number;
  /**
   * Whether a start of `tokens` with `ahead` starts queued before it may happen now, or when at
   * the earliest. Asks only; takes nothing.
   */
  opening(nowMs: number, tokens: number, ahead: number): Opening;
  /**
   * The instant before which such a start is sure not to happen, whatever running work turns out
   * to be: a waiter whose budget ends before it is refused. Now, or before, where nothing is sure.
   */
  firmAtMs(nowMs: number, tokens: number, ahead: number): number;
  /** One start was granted: taken from every gate in one step. */
  started(nowMs: number, start: Start): void;
  /** The started work ended. */
  ended(nowMs: number, start: Start, outcome: Outcome): void;
  /** Does what is due by now (a pause is over, a probe may be tried). */
  advance(nowMs: number): void;
  /** New settings apply at once; what was learned stays within them. */
  configure(nowMs: number, settings: GovernorSettings): void;
  /** Forgets all that was learned, pauses by hints included; the operator's rates keep counting. */
  forget(nowMs: number): void;
  /**
   * Starts of the last minute as the durable rows tell them, after a restart, oldest first, with
   * the tokens that they reserved. Where they are not complete (proxied starts leave no rows), and
   * the governor before did not save them either, the window of starts counts as full.
   */
  restoreStarts(nowMs: number, starts: readonly PastStart[], isComplete: boolean): void;
  /** The request rate in force, of the operator, the headers or learned; null where none is. */
  requestRate(nowMs: number): RequestRate | null;
  status(nowMs: number): GovernorStatus;
  /** Tells a change that its pool made: the operator's pause, which the pool itself holds. */
  tell(change: Change): void;
  /** Hands over the changes since the last call, oldest first. */
  drainChanges(): readonly Change[];
  /**
   * What to store; the host compares it with what it stored last.
   * @param isOver whether nothing will be started any more.
   */
  save(nowMs: number, isOver?: boolean): Saved;
}
