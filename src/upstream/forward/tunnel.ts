/**
 * Carries bytes both ways between a caller and an upstream that has switched protocols, as they
 * come, each only as fast as the other side takes them, until one side has said all.
 */
import type { Connection } from '../../http1/connection.ts';
import { latin1Bytes } from '../../http1/head.ts';
import { largeBuffers } from '../../http1/large_buffers.ts';
import type { Limits } from './exchange.ts';
import type { Cut } from './forward_error.ts';
import type { Guard, Watched } from './guard.ts';

/** How long one side may take to end when the other has. */
const END_WAIT_MS = 1_000;
const AHEAD_BYTES_MAX = 64 * 1024;

export interface TunnelOptions {
  readonly guard: Guard;
  readonly nowMs: () => number;
  readonly limits: Limits;
  /** When the request began that is carried on. */
  readonly startedAtMs: number;
}

interface Way {
  readonly from: Connection;
  readonly to: Connection;
  /** Sent before anything that comes. */
  readonly first?: Uint8Array;
}

export class Tunnel implements Watched {
  readonly #upstream: Connection;
  readonly #options: TunnelOptions;
  #caller: Connection | null = null;
  #hasMoved = false;
  place = -1;
  quietSinceMs: number;
  /** The limit that ended it; null where none did. */
  cut: Cut | null = null;
  /** Bytes from the caller, and to it. */
  bytesIn = 0;
  bytesOut = 0;

  constructor(upstream: Connection, options: TunnelOptions) {
    this.#upstream = upstream;
    this.#options = options;
    this.quietSinceMs = options.nowMs();
  }

  /**
   * Resolves when both sides are closed. Never rejects.
   * @param head is what the caller is sent first: it may never take it.
   */
  async carry(caller: Connection, head: string): Promise<void> {
    const upstream = this.#upstream;
    this.#caller = caller;
    this.#options.guard.add(this);
    const back = { from: upstream, to: caller, first: latin1Bytes(head) };
    const up = this.#pump({ from: caller, to: upstream }, (count) => this.bytesIn += count);
    const down = this.#pump(back, (count) => this.bytesOut += count);
    await Promise.race([up, down]);
    const timer = setTimeout(() => this.end(), END_WAIT_MS);
    await Promise.all([up, down]);
    clearTimeout(timer);
    this.end();
  }

  look(nowMs: number): void {
    const { startedAtMs, limits: { stallTimeoutMs, requestTimeoutMs } } = this.#options;
    if (this.#hasMoved) {
      this.#hasMoved = false;
      this.quietSinceMs = nowMs;
    }
    if (requestTimeoutMs !== null && nowMs - startedAtMs >= requestTimeoutMs) this.cut = 'overdue';
    else if (nowMs - this.quietSinceMs >= stallTimeoutMs) this.cut = 'stall';
    if (this.cut !== null) this.end();
  }

  /** Ends both sides now. */
  end(): void {
    this.#options.guard.remove(this);
    this.#upstream.close();
    this.#caller?.close();
  }

  /** From one side to the other, with its end. */
  async #pump(way: Way, count: (bytes: number) => void): Promise<void> {
    const { from, to, first } = way;
    try {
      if (first !== undefined) await this.#write(way, first);
      for (;;) {
        const piece = await from.piece(Infinity);
        if (piece === null) break;
        await this.#write(way, piece);
        largeBuffers.giveBack(piece);
        count(piece.length);
      }
      await to.line.closeWrite();
    } catch {
      this.end();
    }
  }

  async #write({ from, to }: Way, piece: Uint8Array): Promise<void> {
    let isWritten = false;
    void this.#readAhead(from, () => isWritten);
    await to.write(piece).finally(() => isWritten = true);
    this.#hasMoved = true;
  }

  /** A side that breaks off while the other takes nothing is noticed by reading alone. */
  async #readAhead(from: Connection, isWritten: () => boolean): Promise<void> {
    try {
      while (!isWritten() && from.aheadBytes < AHEAD_BYTES_MAX && await from.fill());
    } catch {
      this.end();
    }
  }
}
