/**
 * Acquiring a slot within a budget: waits in the pool's queue, and goes on through a restart of the
 * server, a queue timeout of the pool and a refusal that time will lift, with what is left of the
 * budget. A try whose fate is not known is repeated under the same Idempotency-Key, so that no
 * slot is taken twice.
 */
import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { pause } from './clock.ts';
import { NthbouncerError, Refused, SlotLost, Unreachable } from './failure.ts';
import { Slot } from './slot.ts';
import type { Grant, Transport } from './transport.ts';
import { grantOf } from './transport.ts';

export interface AcquireOptions {
  /** How long to wait for a slot; 0 or absent: fail at once. */
  readonly waitMs?: number;
  /** How many slots the lease takes; 1 unless given. */
  readonly slots?: number;
  /** An estimate of LLM tokens to reserve. */
  readonly tokens?: number;
  /** A label that administrators see beside the slot. */
  readonly holder?: string;
  /** Gives the wait up. */
  readonly signal?: AbortSignal;
  /**
   * How long before the lease's end the slot's signal fires: ms, or a function of the term. At most
   * half the term. A tenth of the term, 50 ms to 2 s, unless given.
   */
  readonly marginMs?: number | ((termMs: number) => number);
  /** Called after each renewal: the lease lasts longer now. */
  readonly onRenewed?: () => void;
}

export interface AcquireParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
}

/** No pool lets a caller wait longer; whoever wants to joins the line again. */
const WAIT_MS_MAX = 3_600_000;
/** How long after the budget an answer may still come. */
const GRACE_MS = 10_000;
const RENEW_LIMIT_MS = 5_000;
/** A failing first call is repeated once even where no wait was asked for: it may hold a slot. */
const TRIES_MIN = 2;

/** @throws Refused, Unreachable, BadAnswer, or the reason of the options' signal. */
export async function acquire(parts: AcquireParts, options: AcquireOptions): Promise<Slot> {
  const { clock, random } = parts;
  const { waitMs = 0, signal } = options;
  const budgetEndsAtMs = clock.nowMs() + waitMs;
  let asked = freshKey(clock);
  for (let tries = 1;; tries++) {
    try {
      const slot = await tryOnce(parts, options, { ...asked, budgetEndsAtMs });
      if (slot !== null) return slot;
      if (clock.nowMs() >= budgetEndsAtMs) throw new SlotLost('unrenewed');
      asked = freshKey(clock);
    } catch (error) {
      signal?.throwIfAborted();
      const leftMs = budgetEndsAtMs - clock.nowMs();
      const hintMs = error instanceof Refused ? error.retryAfterMs : undefined;
      if (!mayPass(error)) throw error;
      // The pool's own queue timeout is shorter than the budget: the line may be joined again.
      const isRejoin = error instanceof Refused && error.code === 'queue_timeout';
      const againMs = backoffMs(isRejoin ? 1 : tries, hintMs, random());
      const isRepeat = error instanceof Unreachable && tries < TRIES_MIN;
      if (!isRepeat && againMs > leftMs) throw error;
      await pause(clock, againMs, signal);
      // What was answered holds no slot; only a try without an answer may.
      const isInDoubt = error instanceof Unreachable;
      asked = isInDoubt ? { ...asked, isRepeat: true } : freshKey(clock);
    }
  }
}

interface Asked {
  readonly key: string;
  /** When the first request under this key was sent. */
  readonly sinceMs: number;
  readonly isRepeat: boolean;
}

function freshKey(clock: Clock): Asked {
  return { key: crypto.randomUUID(), sinceMs: clock.nowMs(), isRepeat: false };
}

/** One request; null where a grant came too late to be of use. */
async function tryOnce(
  { transport, clock, random }: AcquireParts,
  options: AcquireOptions,
  asked: Asked & { readonly budgetEndsAtMs: number },
): Promise<Slot | null> {
  const sentAtMs = clock.nowMs();
  const leftMs = Math.max(0, Math.ceil(Math.min(asked.budgetEndsAtMs - sentAtMs, WAIT_MS_MAX)));
  const { slots, tokens, holder, signal, marginMs = usualMarginMs, onRenewed } = options;
  const answer = await transport.post({
    path: 'acquire',
    body: {
      ...(leftMs === 0 ? {} : { waitMs: leftMs }),
      ...(slots === undefined ? {} : { slots }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(holder === undefined ? {} : { holder }),
    },
    headers: { 'idempotency-key': asked.key },
    limitMs: leftMs + GRACE_MS,
    signal,
  });
  const received = grantOf(answer);
  const fresh = { grant: received, earliestMs: earliestOf(received, asked.sinceMs) };
  const known = asked.isRepeat ? await refreshed(fresh, { transport, clock }) : fresh;
  if (known === null) return null;
  const { grant, earliestMs } = known;
  const slot = new Slot({
    transport,
    clock,
    random,
    grant,
    earliestMs,
    marginMs: typeof marginMs === 'number' ? () => marginMs : marginMs,
    onRenewed,
  });
  if (!slot.signal.aborted) return slot;
  await slot.release().catch(() => {});
  return null;
}

/** The queued time is rounded by the server, so a millisecond may be too many. */
function earliestOf({ queuedMs }: Grant, sinceMs: number): number {
  return sinceMs + Math.max(0, queuedMs - 1);
}

interface Known {
  readonly grant: Grant;
  readonly earliestMs: number;
}

/**
 * A repeat may tell of a grant that is old already. A renewal gives it a whole term from now on;
 * where it cannot be renewed it is taken for as old as it may be. null: it is gone.
 */
async function refreshed(
  { grant, earliestMs }: Known,
  { transport, clock }: Pick<AcquireParts, 'transport' | 'clock'>,
): Promise<Known | null> {
  const sentAtMs = clock.nowMs();
  const lifeMs = grant.leaseMs ?? grant.termMs + grant.requestDeadline - grant.leaseDeadline;
  try {
    await transport.post({ path: `${grant.slotId}/renew`, limitMs: RENEW_LIMIT_MS });
  } catch (error) {
    if (error instanceof Refused && error.code === 'not_found') return null;
    if (error instanceof NthbouncerError) return { grant, earliestMs };
    throw error;
  }
  const leaseMs = earliestMs + lifeMs - sentAtMs;
  return { grant: { ...grant, leaseMs }, earliestMs: sentAtMs };
}

/** Whether time may lift what was in the way. */
function mayPass(error: unknown): boolean {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof Refused)) return false;
  return error.code === 'too_many_requests' || error.code === 'queue_timeout' ||
    error.code === 'shutting_down' || error.code === 'storage_unavailable' ||
    error.code === 'internal';
}

function usualMarginMs(termMs: number): number {
  return Math.min(2_000, Math.max(50, termMs / 10));
}
