/**
 * The one way in which this server says no: a code of the error table as JSON, with what else helps
 * the caller. Nothing of the inside (stack, path, address) ever goes into an answer.
 */
import { type Answer, headerText } from '../http1/answer.ts';
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import { OF_REFUSAL } from './own_headers.ts';

export interface FaultParts {
  /** Overrides the table's sentence. */
  readonly message?: string;
  /** Further fields of the body. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further headers as whole lines; the doors' answers alone have them. */
  readonly lines?: string;
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

const RETRY_LATER = { [OF_REFUSAL.retryAfter.name]: '1' };
const CHALLENGE = { [OF_REFUSAL.challenge.name]: 'Nthbouncer' };

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function told(code: ErrorCode, parts: FaultParts): Told {
  const { status, sentence } = ERRORS[code];
  const message = parts.message ?? sentence;
  // Each has issues: where nobody said which field is wrong, it is the whole.
  const whole = code === 'invalid_request' ? { issues: [{ path: '', reason: message }] } : {};
  const body = JSON.stringify({ error: code, message, ...whole, ...parts.more });
  const inForce = parts.status ?? status;
  const headers = {
    'content-type': 'application/json',
    ...(inForce === 401 ? CHALLENGE : {}),
    ...(inForce === 503 ? RETRY_LATER : {}),
    ...parts.headers,
  };
  return { status: inForce, headers, body };
}

/** What is told of one field, query parameter or header that is wrong. */
export function wrongField(path: string, reason: string): FaultParts {
  return { message: `${path}: ${reason}`, more: { issues: [{ path, reason }] } };
}

/** The answer that tells of a fault, for the doors. */
export function faultAnswer(code: ErrorCode, parts: FaultParts = {}): Answer & { body: string } {
  const { status, headers, body } = told(code, parts);
  return { status, headers: headerText(headers) + (parts.lines ?? ''), body };
}

/** The same for routes. */
export function faultResponse(code: ErrorCode, parts: FaultParts = {}): Response {
  const { body, ...init } = told(code, parts);
  return new Response(body, init);
}

export function wrongMethod(allowed: readonly string[]): FaultParts {
  return {
    message: `This path takes ${allowed.join(' or ')}.`,
    headers: { [OF_REFUSAL.allow.name]: allowed.join(', ') },
  };
}
