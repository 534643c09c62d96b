/**
 * What every answer to an acquire tells of the pool, and how a refusal is told; the same for locks
 * and for proxied requests.
 */
import type { Gauge } from '../core/ask.ts';
import type { Refused } from '../scheduler/verdict.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';

/** The headers `x-nthpool-…` of an attempt. */
export function poolHeaders(
  gauge: Gauge,
  queuedMs: number,
  attempt: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    'x-nthpool-remaining-slots': String(gauge.remaining),
    'x-nthpool-effective-limit': String(gauge.limit),
    'x-nthpool-queued-ms': String(queuedMs),
    'x-nthpool-queue-depth': String(gauge.queued),
    'x-nthpool-request-id': attempt,
  };
  if (gauge.rate !== null) {
    headers['x-nthpool-rpm-limit'] = String(Math.floor(gauge.rate.limit));
    headers['x-nthpool-rpm-remaining'] = String(Math.floor(gauge.rate.remaining));
  }
  return headers;
}

/** @param extra further headers. */
export function refusalAnswer(refused: Refused, extra: Record<string, string> = {}): Response {
  const { code, reason, retryAfterMs, slotsMax, place } = refused;
  // A pool that was deleted meanwhile answers as if it had never been.
  if (code === 'unauthorized') return faultAnswer(code, { headers: extra });
  const headers = {
    ...poolHeaders(refused.gauge, refused.queuedMs, refused.attempt),
    ...extra,
  };
  const more: Record<string, unknown> = { reason, place };
  if (slotsMax === undefined) {
    return faultAnswer(code, withRetry(retryAfterMs, { headers, more }));
  }
  const why = `must be at most ${slotsMax}, the pool's limit`;
  more['issues'] = [{ path: 'slots', reason: why }];
  return faultAnswer(code, {
    headers,
    more,
    message: `The request asks for more slots: it ${why}.`,
  });
}

/** The same parts with the hint of when to try again, as a header and in the body. */
export function withRetry(retryAfterMs: number | undefined, parts: FaultParts): FaultParts {
  if (retryAfterMs === undefined) return parts;
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  return {
    ...parts,
    headers: { ...parts.headers, 'retry-after': seconds },
    more: { ...parts.more, retryAfterMs },
  };
}
