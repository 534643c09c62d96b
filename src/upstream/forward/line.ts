/**
 * The contract of a raw connection to an upstream, plain or TLS, and of what opens one. The runtime
 * supplies both (cli), tests supply lines in memory; nothing in here knows a socket.
 */
export interface Line {
  /** Reads some bytes; null at the end. Rejects where the connection broke or was closed. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes some of the bytes, at least one. */
  write(bytes: Uint8Array): Promise<number>;
  /** May be called at any time and more than once; what is under way rejects. */
  close(): void;
  readonly remote: Address | null;
  readonly local: Address | null;
}

export interface Address {
  readonly hostname: string;
  readonly port: number;
}

export interface Origin extends Address {
  readonly isTls: boolean;
}

export type Dial = (to: Origin) => Promise<Line>;

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
