/**
 * What an acquire asks for, and what every answer to it tells of the pool.
 */
import type { RequestRate } from './governor/governor.ts';
import type { Door } from './lease.ts';

/** What an acquire asks for. */
export interface Ask {
  readonly door: Door;
  /** The id of this attempt in the access log. */
  readonly attempt: string;
  /** How long to wait at the most; 0: fail fast. Clamped to the pool's queue timeout. */
  readonly waitMs: number;
  readonly slots: number;
  /** LLM tokens to reserve; 0 where the caller gave no estimate. */
  readonly tokens: number;
  readonly keyId: string | null;
  readonly holder: string | null;
  /** Under which a repeat of this acquire is known; absent where none was given. */
  readonly repeatKey?: string | undefined;
}

/** What a pool looks like right after a decision; it is told in the answer's headers. */
export interface Gauge {
  readonly limit: number;
  readonly remaining: number;
  readonly queued: number;
  /** The request rate in force; null where none is set or learned. */
  readonly rate: RequestRate | null;
}
