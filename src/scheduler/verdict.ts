/**
 * What an acquire comes to, once the core's answer is known and a grant is durable: the answer's
 * code with all that the caller is told, and the same as an access-log entry.
 */
import type { Admission } from '../core/admission.ts';
import type { Ask, Gauge } from '../core/ask.ts';
import type { Lease } from '../core/lease.ts';
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import type { LogEntry } from '../store/entry.ts';
import { unsent } from '../store/entry.ts';

export type Verdict = Granted | Refused;

export interface Granted {
  readonly kind: 'granted';
  readonly lease: Lease;
  readonly gauge: Gauge;
  readonly queuedMs: number;
  /** Whether it stood in the queue, however shortly. */
  readonly hasWaited: boolean;
}

export interface Refused {
  readonly kind: 'refused';
  /** The id of the attempt in the access log. */
  readonly attempt: string;
  readonly code: ErrorCode;
  readonly gauge: Gauge;
  readonly queuedMs: number;
  /** Why; with `unauthorized` the policy that failed, for the log alone. */
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** With `invalid_request`: the most slots that a lease of this pool may have. */
  readonly slotsMax?: number;
  /** Where in the queue the acquire waits of which this is a repeat that will not wait; from 1. */
  readonly place?: number;
}

/** The refusal that an admission other than a grant means. */
export function refusedBy(
  admission: Exclude<Admission, { kind: 'granted' | 'queued' }>,
  of: { attempt: string; queuedMs: number },
): Refused {
  const { gauge } = admission;
  const refused = { kind: 'refused', gauge, ...of } as const;
  switch (admission.kind) {
    case 'refused': {
      const { reason, retryAfterMs } = admission;
      return { ...refused, code: 'too_many_requests', reason, retryAfterMs };
    }
    case 'too_wide':
      return { ...refused, code: 'invalid_request', slotsMax: admission.slotsMax };
    case 'timed_out':
      return { ...refused, code: 'queue_timeout' };
    case 'pool_gone':
      return { ...refused, code: 'unauthorized', reason: 'pool deleted' };
  }
}

/** Who asked, as far as the log wants it beyond the ask itself. */
export interface Caller {
  readonly address: string | null;
  /** What a request to a pool's host asked for. */
  readonly asked?: () => { readonly method: string; readonly path: string };
}

export function entryOf(
  verdict: Verdict,
  ask: Ask & Caller,
  where: { pool: string; at: number },
): LogEntry {
  const isGrant = verdict.kind === 'granted';
  const asked = ask.asked?.();
  return {
    id: ask.attempt,
    at: where.at,
    pool: where.pool,
    kind: ask.door,
    outcome: isGrant ? 'granted' : verdict.code,
    status: isGrant ? 200 : ERRORS[verdict.code].status,
    reason: isGrant ? null : verdict.reason ?? null,
    queuedMs: verdict.queuedMs,
    slots: ask.slots,
    keyId: ask.keyId,
    address: ask.address,
    holder: ask.holder,
    ...(asked === undefined ? {} : { proxied: unsent(asked.method, asked.path) }),
    ...(isGrant && ask.tokens > 0 ? { tokens: ask.tokens } : {}),
  };
}
