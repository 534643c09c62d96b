/**
 * The answer to an acquire, and the one place that decides it: pause and rates first, then
 * whoever is ahead, then a free slot. Deciding changes nothing; the bouncer acts on the answer.
 */
import type { Ask, Gauge } from './ask.ts';
import type { Opening } from './governor/governor.ts';
import type { Lease } from './lease.ts';
import type { Pool } from './pool.ts';
import type { Waiter } from './queue.ts';
import { slotsMax } from './settings.ts';

export type RefusalReason = 'full' | 'queue_full' | 'rate' | 'paused';

export type Admission =
  | { readonly kind: 'granted'; readonly lease: Lease; readonly gauge: Gauge }
  | { readonly kind: 'queued'; readonly waiter: Waiter }
  | Refusal;

/** Why no slot was given. `pool_gone`: the pool was deleted. `timed_out`: the budget ended. */
export type Cause =
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly retryAfterMs: number }
  | { readonly kind: 'too_wide'; readonly slotsMax: number }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'pool_gone' };

/** With the pool as it is once that is decided. */
export type Refusal = Cause & { readonly gauge: Gauge };

export type Decision =
  | { readonly kind: 'grant' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'too_wide'; readonly slotsMax: number }
  | {
    readonly kind: 'refuse';
    readonly reason: RefusalReason;
    readonly retryAfterMs: number;
  };

const GRANT: Decision = { kind: 'grant' };
const WAIT: Decision = { kind: 'wait' };

/** Whether a gate is sure to open only after a budget has ended. */
export function isHopeless(opening: Opening, budgetEndsAtMs: number): boolean {
  return opening.kind === 'shut' && opening.isFirm && opening.atMs !== Infinity &&
    opening.atMs > budgetEndsAtMs;
}

/** Decides a fresh acquire. `waitMs` is the budget after clamping. */
export function decide(pool: Pool, ask: Ask, options: { nowMs: number; waitMs: number }): Decision {
  const { nowMs, waitMs } = options;
  const widest = slotsMax(pool.settings.concurrency);
  if (ask.slots > widest) return { kind: 'too_wide', slotsMax: widest };
  const ahead = pool.queue.length;
  const opening = pool.opening(nowMs, ask.tokens, ahead);
  if (opening.kind === 'shut') {
    const reason = opening.reason;
    const retryAfterMs = pool.retryAfterMs(opening.atMs, nowMs);
    if (waitMs === 0) return { kind: 'refuse', reason, retryAfterMs };
    // An end that nobody knows (paused until resumed) may come within any budget.
    if (isHopeless(opening, nowMs + waitMs)) {
      return { kind: 'refuse', reason, retryAfterMs };
    }
  } else if (ahead === 0 && pool.fits(ask.slots)) return GRANT;
  if (waitMs === 0) {
    return { kind: 'refuse', reason: 'full', retryAfterMs: pool.freeInMs(ahead) };
  }
  if (ahead >= pool.settings.queue.maxDepth) {
    return { kind: 'refuse', reason: 'queue_full', retryAfterMs: pool.freeInMs(ahead) };
  }
  return WAIT;
}
