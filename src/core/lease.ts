/**
 * A lease: a holder's right to slots until its deadline. A live lease stands in exactly one pool
 * and in the due heap; once it has ended nothing brings it back. Only its deadline, its
 * renewals, whether it is live and whether it is stored change, so what is stored of it at the
 * grant stays true.
 */
import type { Start } from './governor/governor.ts';
import type { LeaseSettings } from './settings.ts';

export interface Lease {
  readonly kind: 'lease';
  /** The unguessable token outward, the key inward. */
  readonly slotId: string;
  readonly pool: string;
  /** `lock`: durable, held by a caller. `proxy`: in memory, held by a forwarded request. */
  readonly door: Door;
  readonly slots: number;
  /** Grows with every grant of the server. */
  readonly fence: number;
  /** The id of the granting attempt in the access log, shown to administrators as `ref`. */
  readonly attempt: string;
  readonly keyId: string | null;
  readonly holder: string | null;
  /** Under which a repeat of its acquire is known. */
  readonly repeatKey?: string | undefined;
  readonly grantedAtMs: number;
  readonly termMs: number;
  /** No lease passes it. */
  readonly requestDeadlineMs: number;
  /** What the governor wants to know of the start when it ends. */
  readonly start: Start;
  renewals: number;
  /** Whether it counts against its pool now; set by `Pool.move` alone. */
  isLive: boolean;
  /** Its place in the due heap; `dueAtMs` is the lease's deadline. */
  dueAtMs: number;
  place: number;
  /** Whether the store may hold its row; set by the journal alone. */
  isStored: boolean;
}

export type Door = 'lock' | 'proxy';
export const DOORS: readonly Door[] = ['lock', 'proxy'];

/** Whether it is held at `nowMs`, also where its deadline has passed and no turn came since. */
export function isHeld(lease: Lease, nowMs: number): boolean {
  return lease.isLive && lease.dueAtMs > nowMs;
}

/** The deadline that a renewal at `nowMs` gives: never past the request deadline, never earlier. */
export function renewedDeadlineMs(lease: Lease, nowMs: number): number {
  const extended = Math.min(nowMs + lease.termMs, lease.requestDeadlineMs);
  return Math.max(extended, lease.dueAtMs);
}

/**
 * How often its holder is to renew, whole ms from 1 to less than its term. The pool's interval goes
 * with the pool's term: of a lease that was granted under another term it is the same part.
 */
export function renewIntervalMsOf({ termMs }: Lease, pool: LeaseSettings): number {
  return Math.max(1, Math.floor(pool.renewIntervalMs * termMs / pool.termMs));
}
