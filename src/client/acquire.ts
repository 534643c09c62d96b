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
import { PlaceWatch } from './place.ts';
import type { SlotParts } from './slot.ts';
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
   * How long before the lease's end the slot's signal fires: ms, or a function of the slot's
   * `termMs`. At most half of that. A tenth of it, 50 ms to 2 s, unless given.
   */
  readonly marginMs?: number | ((termMs: number) => number);
  /**
   * Told every two seconds or so, while the acquire waits, its place in the queue, from 1. What it
   * throws is a warning.
   */
  readonly onPlace?: (place: number) => void;
  /** Called after each renewal: the lease lasts longer now. What it throws is a warning. */
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

/**
 * @throws TypeError, Refused, Unreachable, BadAnswer, SlotLost where grants came too late, or the
 * reason of the options' signal.
 */
export async function acquire(parts: AcquireParts, options: AcquireOptions): Promise<Slot> {
  const { clock, random } = parts;
  const { waitMs = 0, signal } = options;
  checkNumbers(options);
  const budgetEndsAtMs = clock.nowMs() + waitMs;
  const keys = new Keys(parts, options);
  try {
    for (let tries = 1;; tries++) {
      try {
        const slot = await tryOnce(parts, options, { ...keys.asked, budgetEndsAtMs });
        keys.end(slot.slotId);
        return slot;
      } catch (error) {
        signal?.throwIfAborted();
        const againMs = againInMs(error, { tries, random: random() });
        const isRepeat = error instanceof Unreachable && tries < TRIES_MIN;
        if (!isRepeat && againMs > budgetEndsAtMs - clock.nowMs()) throw error;
        await pause(clock, againMs, signal);
        // What was answered holds no slot; only a try without an answer may.
        if (error instanceof Unreachable) keys.repeat();
        else keys.next();
      }
    }
  } finally {
    keys.end(null);
  }
}

/**
 * Refuses NaN, as of a variable that is not set: with it no budget would ever be over, and JSON,
 * which has no word for it, would leave it out. @throws TypeError
 */
function checkNumbers({ waitMs = 0, slots, tokens }: AcquireOptions): void {
  if (typeof waitMs !== 'number' || Number.isNaN(waitMs)) {
    throw new TypeError(`waitMs: a number of ms is wanted, not ${String(waitMs)}.`);
  }
  for (const [name, value] of Object.entries({ slots, tokens })) {
    if (typeof value !== 'number' || Number.isFinite(value)) continue;
    throw new TypeError(`${name}: a whole number is wanted, not ${value}.`);
  }
}

/** How long to wait after a failed try. @throws the error where time will not help. */
function againInMs(error: unknown, { tries, random }: { tries: number; random: number }): number {
  if (!mayPass(error)) throw error;
  const refused = error instanceof Refused ? error : null;
  // The pool's own queue timeout is shorter than the budget: the line may be joined again.
  const isRejoin = refused?.code === 'queue_timeout';
  return backoffMs(isRejoin ? 1 : tries, refused?.retryAfterMs, random);
}

interface Asked {
  readonly key: string;
  /** When the first request under this key was sent. */
  readonly sinceMs: number;
  /** How long the acquire had waited by then. */
  readonly waitedMs: number;
  readonly isRepeat: boolean;
}

/** The key of each try, and the watch over the place of its wait, which ends with the key. */
class Keys {
  readonly #parts: AcquireParts;
  readonly #options: AcquireOptions;
  readonly #startedAtMs: number;
  #asked: Asked;
  #watch: PlaceWatch | null = null;

  constructor(parts: AcquireParts, options: AcquireOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#startedAtMs = parts.clock.nowMs();
    this.#asked = this.#fresh(this.#startedAtMs);
  }

  get asked(): Asked {
    return this.#asked;
  }

  repeat(): void {
    this.#asked = { ...this.#asked, isRepeat: true };
  }

  next(): void {
    this.end(null);
    this.#asked = this.#fresh(this.#parts.clock.nowMs());
  }

  /** No more is asked under this key; it brought this slot, or none. */
  end(slotId: string | null): void {
    this.#watch?.end(slotId);
    this.#watch = null;
  }

  #fresh(sinceMs: number): Asked {
    const { transport, clock } = this.#parts;
    const { onPlace, waitMs = 0 } = this.#options;
    const key = crypto.randomUUID();
    if (onPlace !== undefined && waitMs > 0) {
      this.#watch = new PlaceWatch({ transport, clock, key, onPlace, body: bodyOf(this.#options) });
    }
    return { key, sinceMs, waitedMs: sinceMs - this.#startedAtMs, isRepeat: false };
  }
}

/** What is asked for, but for the wait. */
function bodyOf({ slots, tokens, holder }: AcquireOptions): Record<string, unknown> {
  return {
    ...(slots === undefined ? {} : { slots }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(holder === undefined ? {} : { holder }),
  };
}

/** One request. @throws SlotLost where a grant came too late to be of use; it is given back. */
async function tryOnce(
  { transport, clock, random }: AcquireParts,
  options: AcquireOptions,
  asked: Asked & { readonly budgetEndsAtMs: number },
): Promise<Slot> {
  const leftMs = Math.max(0, asked.budgetEndsAtMs - clock.nowMs());
  const waitMs = Math.ceil(Math.min(leftMs, WAIT_MS_MAX));
  const { signal, marginMs = usualMarginMs, onRenewed } = options;
  const answer = await transport.post({
    path: 'acquire',
    body: { ...(waitMs === 0 ? {} : { waitMs }), ...bodyOf(options) },
    headers: { 'idempotency-key': asked.key },
    limitMs: waitMs + GRACE_MS,
    signal,
  });
  const received = grantOf(answer);
  const fresh = { grant: received, earliestMs: earliestOf(received, asked.sinceMs) };
  const known = asked.isRepeat ? await refreshed(fresh, { transport, clock }) : fresh;
  const slot = await held({
    transport,
    clock,
    random,
    ...known,
    waitedMs: asked.waitedMs,
    marginMs: typeof marginMs === 'number' ? () => marginMs : marginMs,
    onRenewed,
  });
  if (!slot.signal.aborted) return slot;
  await slot.abandon().catch(() => {});
  throw new SlotLost('late');
}

/** @throws what the caller's `marginMs` throws; the slot is given back. */
async function held(parts: SlotParts): Promise<Slot> {
  try {
    return new Slot(parts);
  } catch (error) {
    await parts.transport.giveBack(parts.grant.slotId);
    throw error;
  }
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
 * where it cannot be renewed it is taken for as old as it may be. @throws SlotLost: it is gone.
 */
async function refreshed(
  { grant, earliestMs }: Known,
  { transport, clock }: Pick<AcquireParts, 'transport' | 'clock'>,
): Promise<Known> {
  const sentAtMs = clock.nowMs();
  try {
    await transport.post({ path: `${grant.slotId}/renew`, limitMs: RENEW_LIMIT_MS });
  } catch (error) {
    if (error instanceof Refused && error.code === 'not_found') throw new SlotLost('late');
    if (error instanceof NthbouncerError) return { grant, earliestMs };
    throw error;
  }
  const lifeMs = earliestMs + grant.lifeMs - sentAtMs;
  return { grant: { ...grant, lifeMs }, earliestMs: sentAtMs };
}

/** Whether time may lift what was in the way. */
function mayPass(error: unknown): boolean {
  if (error instanceof Unreachable || error instanceof SlotLost) return true;
  if (!(error instanceof Refused)) return false;
  return error.code === 'too_many_requests' || error.code === 'queue_timeout' ||
    error.code === 'shutting_down' || error.code === 'storage_unavailable' ||
    error.code === 'internal';
}

function usualMarginMs(termMs: number): number {
  return Math.min(2_000, Math.max(50, termMs / 10));
}
