/**
 * What every answer to an acquire tells of the pool, and how a refusal is told; the same for locks
 * and for proxied requests.
 */
import type { Gauge } from '../core/ask.ts';
import type { Answer } from '../http1/answer.ts';
import type { Refused } from '../scheduler/verdict.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';
import { OF_POOL, OF_REFUSAL } from './own_headers.ts';

/** The headers `x-nthpool-…` of an attempt, as whole lines: every grant has them. */
export function poolLines({ remaining, limit, queued, rate }: Gauge, of: Attempt): string {
  const lines = `${OF_POOL.remaining.name}: ${remaining}\r\n` +
    `${OF_POOL.limit.name}: ${limit}\r\n` +
    `${OF_POOL.queuedMs.name}: ${of.queuedMs}\r\n` +
    `${OF_POOL.queued.name}: ${queued}\r\n` +
    `${OF_POOL.attempt.name}: ${of.attempt}\r\n`;
  if (rate === null) return lines;
  // A rate of some starts an hour is not none at all.
  const rpm = Math.floor(rate.limit) || Math.ceil(rate.limit);
  return lines + `${OF_POOL.rpm.name}: ${rpm}\r\n` +
    `${OF_POOL.rpmRemaining.name}: ${Math.floor(rate.remaining)}\r\n`;
}

export interface Attempt {
  readonly attempt: string;
  readonly queuedMs: number;
}

/** @param headers further ones. */
export function refusalAnswer(refused: Refused, headers: Record<string, string> = {}): Answer {
  const { code, reason, retryAfterMs, slotsMax, place } = refused;
  // A pool that was deleted meanwhile answers as if it had never been.
  if (code === 'unauthorized') return faultAnswer(code, { headers });
  const lines = poolLines(refused.gauge, refused);
  const more: Record<string, unknown> = { reason, place };
  if (slotsMax === undefined) {
    return faultAnswer(code, withRetry(retryAfterMs, { headers, lines, more }));
  }
  const why = `must be at most ${slotsMax}, the pool's limit`;
  more['issues'] = [{ path: 'slots', reason: why }];
  return faultAnswer(code, {
    headers,
    lines,
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
    headers: { ...parts.headers, [OF_REFUSAL.retryAfter.name]: seconds },
    more: { ...parts.more, retryAfterMs },
  };
}
