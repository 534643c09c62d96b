/**
 * The contract of a raw connection, plain or TLS, to a caller or to an upstream. The runtime
 * supplies it (cli), tests supply lines in memory; nothing in here knows a socket.
 */
export interface Line {
  /** Reads some bytes; null at the end. Rejects where the connection broke or was closed. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes some of the bytes, at least one. */
  write(bytes: Uint8Array): Promise<number>;
  /** Tells the other side that nothing more will come; what it sends can still be read. */
  closeWrite(): Promise<void>;
  /** May be called at any time and more than once; what is under way rejects. */
  close(): void;
}

export interface Address {
  readonly hostname: string;
  readonly port: number;
}
