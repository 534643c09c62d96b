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

/** Who waits for `opening`: with how many before it, and until when. */
interface Wait {
  readonly nowMs: number;
  readonly tokens: number;
  readonly ahead: number;
  /** The end of the budget. */
  readonly untilMs: number;
}

/** By which gates somebody is turned away, and when to come again. */
interface Turned {
  readonly reason: RefusalReason;
  readonly retryAfterMs: number;
}

/** The refusal of a waiter whom the gates are sure not to let in within its budget; else null. */
export function hopeless(pool: Pool, opening: Opening, wait: Wait): Turned | null {
  const { nowMs, tokens, ahead, untilMs } = wait;
  if (opening.kind === 'open' || opening.atMs <= untilMs) return null;
  const firmAtMs = pool.firmAtMs(nowMs, tokens, ahead);
  if (firmAtMs <= untilMs) return null;
  const atMs = opening.atMs === Infinity ? firmAtMs : opening.atMs;
  return { reason: opening.reason, retryAfterMs: pool.retryAfterMs(atMs, nowMs) };
}

/** Decides a fresh acquire: with the budget after clamping, and how many waiters go before it. */
export function decide(
  pool: Pool,
  ask: Ask,
  { nowMs, waitMs, ahead }: { nowMs: number; waitMs: number; ahead: number },
): Decision {
  const widest = slotsMax(pool.settings.concurrency);
  if (ask.slots > widest) return { kind: 'too_wide', slotsMax: widest };
  const opening = pool.opening(nowMs, ask.tokens, ahead);
  if (opening.kind === 'shut') {
    const { tokens } = ask;
    const turned = hopeless(pool, opening, { nowMs, tokens, ahead, untilMs: nowMs + waitMs });
    if (turned !== null) return { kind: 'refuse', ...turned };
    const { reason, atMs } = opening;
    if (waitMs === 0) {
      return { kind: 'refuse', reason, retryAfterMs: pool.retryAfterMs(atMs, nowMs) };
    }
  } else if (ahead === 0 && pool.fits(ask.slots)) return GRANT;
  if (waitMs === 0) {
    return { kind: 'refuse', reason: 'full', retryAfterMs: pool.freeInMs(ahead) };
  }
  if (pool.queue.length >= pool.settings.queue.maxDepth) {
    return { kind: 'refuse', reason: 'queue_full', retryAfterMs: pool.freeInMs(ahead) };
  }
  return WAIT;
}
