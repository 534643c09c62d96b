/**
 * The settings of a pool that the core acts on: concurrency, queue, lease and rate. Their bounds
 * and defaults are checked at the edge (wire); the core trusts them. All durations are whole ms.
 */

export interface PoolSettings {
  readonly concurrency: ConcurrencySettings;
  readonly queue: QueueSettings;
  readonly lease: LeaseSettings;
  readonly rate: RateSettings;
}

export interface ConcurrencySettings {
  /** Slots: the limit (`fixed`), or where the effective limit starts (`adaptive`). */
  readonly limit: number;
  readonly mode: 'fixed' | 'adaptive';
  /** Bounds of the effective limit in `adaptive`; they do nothing in `fixed`. */
  readonly min: number;
  readonly max: number;
}

export interface QueueSettings {
  /** Waiters that may stand in the queue; 0: nobody waits. */
  readonly maxDepth: number;
  /** The longest wait that a caller may ask for. */
  readonly timeoutMs: number;
}

export interface LeaseSettings {
  readonly termMs: number;
  readonly renewIntervalMs: number;
  /** From grant to the request deadline, which no lease of a lock caller passes. */
  readonly requestTimeoutMs: number;
}

/** What a 429 means for this upstream, where the operator knows; `auto`: the governor finds out. */
export type RefusalKind = 'auto' | 'concurrency' | 'rate';

export interface RateSettings {
  /** Starts in any rolling 60 s; null: no operator's rate. */
  readonly rpm: number | null;
  /** LLM tokens in any rolling 60 s; null: no operator's rate. */
  readonly tpm: number | null;
  /** Starts at once, of the rpm; null: rpm. */
  readonly burst: number | null;
  /** Whether rates are learned from outcomes. */
  readonly learn: boolean;
  /** What a 429 means for this upstream. */
  readonly kind: RefusalKind;
  /** The longest pause that an upstream's hint can cause. */
  readonly maxPauseMs: number;
}

/** The most slots that one lease may ask for: `limit`, in adaptive pools `max`. */
export function slotsMax(settings: ConcurrencySettings): number {
  return settings.mode === 'adaptive' ? settings.max : settings.limit;
}
