/**
 * The contract of what opens a connection to an upstream, and why none came about. The runtime
 * supplies it (cli), tests supply their own.
 */
import type { Address, Line } from '../../http1/line.ts';

export interface Origin extends Address {
  readonly isTls: boolean;
}

/** Aborted once nobody waits for the line any more: one that comes all the same is closed. */
export type Dial = (to: Origin, givenUp: AbortSignal) => Promise<Line>;

/** Why no connection came about; it is told to callers, so it never holds an address. */
export type DialReason = 'refused' | 'dns' | 'tls' | 'unreachable';

export class DialError extends Error {
  override name = 'DialError';
  readonly reason: DialReason;

  constructor(reason: DialReason) {
    super(reason);
    this.reason = reason;
  }
}
