/**
 * Why an exchange failed, as an error code and a sentence for the caller. The sentence says which
 * step failed and never names an address, a credential or a text of the upstream.
 */
import { MalformedError } from '../../http1/head.ts';
import { LoopError } from './connections.ts';
import type { DialReason } from './dial.ts';
import { DialError } from './dial.ts';

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

export class ForwardError extends Error {
  override name = 'ForwardError';
  readonly code: ForwardCode;
  readonly cut: Cut | null;

  constructor(code: ForwardCode, message: string, cut: Cut | null = null) {
    super(message);
    this.code = code;
    this.cut = cut;
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

const DIALS: Readonly<Record<DialReason, string>> = {
  refused: 'The upstream refused the connection.',
  dns: "The upstream's name could not be resolved.",
  tls: 'No TLS connection to the upstream could be made.',
  unreachable: 'The upstream could not be reached.',
};

export function cutError(cut: Cut): ForwardError {
  const code = cut === 'malformed' ? 'invalid_request' : 'upstream_timeout';
  return new ForwardError(code, CUTS[cut], cut);
}

export function failureOf(error: unknown): ForwardError {
  if (error instanceof ForwardError) return error;
  if (error instanceof LoopError) {
    return new ForwardError('loop_detected', 'The upstream is this server itself.');
  }
  if (error instanceof DialError) {
    return new ForwardError('upstream_unreachable', DIALS[error.reason]);
  }
  if (error instanceof MalformedError) {
    const message = `The upstream's answer is not well-formed: ${error.message}.`;
    return new ForwardError('upstream_unreachable', message);
  }
  return new ForwardError('upstream_unreachable', 'The connection to the upstream broke.');
}
