/**
 * Why an exchange failed, as an error code and a sentence for the caller. The sentence says which
 * step failed and never names an address, a credential or a text of the upstream.
 */
import { MalformedError } from '../../http1/head.ts';
import type { DialReason } from './dial.ts';
import { DialError, LoopError } from './dial.ts';

export type ForwardCode =
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'loop_detected'
  | 'invalid_request';

/**
 * Why an exchange was ended early: its caller went away, its slot was taken back, what came is no
 * body of it, or by a limit.
 */
export type Cut = 'gone' | 'taken_back' | 'malformed' | 'connect' | 'stall' | 'overdue';

interface Why {
  readonly cut?: Cut;
  readonly reason?: DialReason;
}

export class ForwardError extends Error {
  override name = 'ForwardError';
  readonly code: ForwardCode;
  readonly cut: Cut | null;
  /** Why there was no connection. */
  readonly reason: DialReason | null;

  constructor(code: ForwardCode, message: string, why: Why = {}) {
    super(message);
    this.code = code;
    this.cut = why.cut ?? null;
    this.reason = why.reason ?? null;
  }
}

const CUTS: Readonly<Record<Cut, string>> = {
  gone: 'The request was ended: its caller went away.',
  taken_back: 'The request was ended: its slot was taken back.',
  malformed: 'The body of the request is not well-formed.',
  connect: 'The connection to the upstream was not made in time.',
  stall: 'Nothing moved to or from the upstream for too long.',
  overdue: 'The request took longer than the pool allows.',
};

const NO_TLS = 'No TLS connection to the upstream could be made';

/** What is told of each reason why no connection came about. */
export const DIALS: Readonly<Record<DialReason, string>> = {
  refused: 'The upstream refused the connection.',
  dns: "The upstream's name could not be resolved.",
  unreachable: 'The upstream could not be reached.',
  tls_issuer: `${NO_TLS}: its certificate is of an issuer that is not trusted here.`,
  tls_expired: `${NO_TLS}: its certificate has expired, or is not valid yet.`,
  tls_name: `${NO_TLS}: its certificate is for another name.`,
  tls_certificate: `${NO_TLS}: its certificate does not pass.`,
  tls_none: `${NO_TLS}: what it sent is no TLS.`,
  tls_refused: `${NO_TLS}: it refused what was offered, TLS 1.2 or 1.3 with HTTP/1.1.`,
  tls_broken: `${NO_TLS}: it broke the handshake off.`,
  tls: `${NO_TLS}.`,
};

export function cutError(cut: Cut): ForwardError {
  const code = cut === 'malformed' ? 'invalid_request' : 'upstream_timeout';
  return new ForwardError(code, CUTS[cut], { cut });
}

export function failureOf(error: unknown): ForwardError {
  if (error instanceof ForwardError) return error;
  if (error instanceof LoopError) {
    return new ForwardError('loop_detected', 'The upstream is this server itself.');
  }
  if (error instanceof DialError) {
    const { reason } = error;
    return new ForwardError('upstream_unreachable', DIALS[reason], { reason });
  }
  if (error instanceof MalformedError) {
    const message = `The upstream's answer is not well-formed: ${error.message}.`;
    return new ForwardError('upstream_unreachable', message);
  }
  return new ForwardError('upstream_unreachable', 'The connection to the upstream broke.');
}
