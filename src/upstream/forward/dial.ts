/**
 * The contract of what opens a connection to an upstream, and why none came about. The runtime
 * supplies it (cli), tests supply their own.
 */
import type { Address, Line } from '../../http1/line.ts';

export interface Origin extends Address {
  readonly isTls: boolean;
}

/**
 * Rejects with a DialError or a LoopError.
 * @param givenUp aborted once nobody waits for the line any more: one that comes all the same is
 * closed.
 */
export type Dial = (to: Origin, givenUp: AbortSignal) => Promise<Line>;

/** Why no connection came about; told to callers and logged, so it never holds an address. */
export type DialReason = 'refused' | 'dns' | 'unreachable' | TlsReason;

/**
 * The certificate's issuer, dates, name, or something else of it; there is no TLS at all; what was
 * offered was refused; the handshake was broken off; or anything else.
 */
export type TlsReason =
  | 'tls_issuer'
  | 'tls_expired'
  | 'tls_name'
  | 'tls_certificate'
  | 'tls_none'
  | 'tls_refused'
  | 'tls_broken'
  | 'tls';

/** The upstream is this very server. */
export class LoopError extends Error {
  override name = 'LoopError';
}

export class DialError extends Error {
  override name = 'DialError';
  readonly reason: DialReason;

  constructor(reason: DialReason) {
    super(reason);
    this.reason = reason;
  }
}
