/**
 * A lease as a row, and a row as a lease again; an operator's pause likewise. Rows hold epoch ms;
 * the core has instants of its own clock. Both directions stand here so that they cannot drift
 * apart.
 */
import type { Lease } from '../core/lease.ts';
import type { Pause } from '../core/pool.ts';
import type { LeaseRow } from '../store/store.ts';

export function rowOf(lease: Lease, shiftMs: number): LeaseRow {
  return {
    slotId: lease.slotId,
    pool: lease.pool,
    slots: lease.slots,
    fence: lease.fence,
    attempt: lease.attempt,
    keyId: lease.keyId,
    holder: lease.holder,
    grantedAt: lease.grantedAtMs + shiftMs,
    termMs: lease.termMs,
    requestDeadline: lease.requestDeadlineMs + shiftMs,
    inFlight: lease.start.inFlight,
    tokens: lease.start.tokens,
    ...(lease.repeatKey === undefined ? {} : { repeatKey: lease.repeatKey }),
  };
}

/**
 * A stored lease as it goes on after a start at `nowMs`, when wire and core agree. It gets a whole
 * term from the start on: while the server was down nobody could renew.
 */
export function restored(row: LeaseRow, nowMs: number): Lease {
  // A wall clock that was set back while the server was down must not lengthen a lease's life.
  const lifeMs = row.requestDeadline - row.grantedAt;
  const requestDeadlineMs = Math.min(row.requestDeadline, nowMs + lifeMs);
  return {
    kind: 'lease',
    slotId: row.slotId,
    pool: row.pool,
    door: 'lock',
    slots: row.slots,
    fence: row.fence,
    attempt: row.attempt,
    keyId: row.keyId,
    holder: row.holder,
    repeatKey: row.repeatKey,
    grantedAtMs: Math.min(row.grantedAt, nowMs),
    termMs: row.termMs,
    requestDeadlineMs,
    start: {
      sequence: row.fence,
      inFlight: row.inFlight,
      atMs: Math.min(row.grantedAt, nowMs),
      tokens: row.tokens,
    },
    renewals: 0,
    isLive: false,
    dueAtMs: Math.min(nowMs + row.termMs, requestDeadlineMs),
    place: -1,
    isStored: true,
  };
}

/** An end that is not known is Infinity inside and null in JSON. */
export function pauseText(pause: Pause | null, shiftMs: number): string | null {
  if (pause === null) return null;
  const untilMs = Number.isFinite(pause.untilMs) ? pause.untilMs + shiftMs : null;
  return JSON.stringify({ ...pause, untilMs });
}

export function pauseOf(text: string): Pause {
  const pause = JSON.parse(text) as { untilMs: number | null; reason: string | null };
  return { untilMs: pause.untilMs ?? Infinity, reason: pause.reason };
}
