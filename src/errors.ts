/**
 * The table of errors: code, HTTP status and the plain sentence that goes with it. A code is never
 * reused for something else; docs/errors.md lists the same rows, and a test holds both together.
 */
export const ERRORS = {
  invalid_request: { status: 400, sentence: 'The request is not valid.' },
  unauthorized: { status: 401, sentence: 'A valid key for this pool is wanted.' },
  not_found: { status: 404, sentence: 'There is nothing here.' },
  method_not_allowed: { status: 405, sentence: 'This path takes another method.' },
  capped: {
    status: 409,
    sentence: 'The lease already ends at its request deadline; release it.',
  },
  already_exists: { status: 409, sentence: 'A pool of this name exists already.' },
  managed_by_config: {
    status: 409,
    sentence: 'The configuration file owns this pool; change it there.',
  },
  payload_too_large: { status: 413, sentence: 'The body is larger than allowed.' },
  too_many_requests: { status: 429, sentence: 'The pool cannot take this request now.' },
  head_too_large: { status: 431, sentence: 'The request line and headers are too large.' },
  internal: { status: 500, sentence: 'The server failed to answer; its log says more.' },
  no_upstream: { status: 501, sentence: 'The pool has no upstream to forward to.' },
  upgrade_unsupported: {
    status: 501,
    sentence: 'Only upgrades to WebSocket pass; a client that offers HTTP/2 must ask for HTTP/1.1.',
  },
  upstream_unreachable: { status: 502, sentence: 'The upstream could not be reached.' },
  too_many_viewers: { status: 503, sentence: 'Too many viewers watch events already.' },
  overloaded: { status: 503, sentence: 'Too many large bodies are read just now.' },
  shutting_down: { status: 503, sentence: 'The server is shutting down.' },
  storage_unavailable: {
    status: 503,
    sentence: 'The database does not take writes; nothing was granted.',
  },
  queue_timeout: { status: 504, sentence: 'No slot opened within the wait that was asked for.' },
  upstream_timeout: { status: 504, sentence: 'The upstream did not answer in time.' },
  loop_detected: { status: 508, sentence: 'The upstream is this server itself.' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** How an attempt in the access log may have ended. */
export type LoggedOutcome = 'granted' | 'client_gone' | ErrorCode;
export const LOGGED_OUTCOMES: readonly LoggedOutcome[] = [
  'granted',
  'client_gone',
  ...Object.keys(ERRORS) as ErrorCode[],
];

/** One thing that is wrong with an input: where, and why. */
export interface Issue {
  readonly path: string;
  readonly reason: string;
}
