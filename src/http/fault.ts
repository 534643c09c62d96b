/**
 * The one way in which this server says no: a code of the error table as JSON, with what else helps
 * the caller. Nothing of the inside (stack, path, address) ever goes into an answer.
 */
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';

export interface FaultParts {
  /** Overrides the table's sentence. */
  readonly message?: string;
  /** Further fields of the body. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the table's status (a code that is told with two). */
  readonly status?: number;
}

/** Thrown by the handlers of the administration; the app turns it into its answer. */
export class Fault extends Error {
  override name = 'Fault';
  readonly code: ErrorCode;
  readonly parts: FaultParts;

  constructor(code: ErrorCode, parts: FaultParts = {}) {
    super(parts.message ?? ERRORS[code].sentence);
    this.code = code;
    this.parts = parts;
  }
}

const RETRY_LATER = { 'retry-after': '1' };

/** The answer that tells of a fault. */
export function faultAnswer(code: ErrorCode, parts: FaultParts = {}): Response {
  const { status, sentence } = ERRORS[code];
  const body = JSON.stringify({ error: code, message: parts.message ?? sentence, ...parts.more });
  const told = parts.status ?? status;
  const headers = {
    'content-type': 'application/json',
    ...(told === 401 ? { 'www-authenticate': 'Nthbouncer' } : {}),
    ...(told === 503 ? RETRY_LATER : {}),
    ...parts.headers,
  };
  return new Response(body, { status: told, headers });
}

export function wrongMethodAnswer(allowed: readonly string[]): Response {
  return faultAnswer('method_not_allowed', {
    message: `This path takes ${allowed.join(' or ')}.`,
    headers: { allow: allowed.join(', ') },
  });
}
