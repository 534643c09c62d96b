/**
 * The body of a request on its way to the upstream, piece by piece as the connection takes them.
 * An upstream that stops reading is not a failure by itself: it may have answered already. A source
 * that breaks off is told of, since the request can then never be whole.
 */
import type { Connection } from './connection.ts';
import { latin1Bytes } from './head.ts';

const LAST_CHUNK = latin1Bytes('0\r\n\r\n');

export interface UploadEvents {
  moved(): void;
  sourceFailed(): void;
}

export class Upload {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #length: number | null;
  readonly #events: UploadEvents;
  #isStopped = false;
  isSent = false;
  bytes = 0;

  /** @param length bytes that the body has; null: sent in chunks. */
  constructor(body: ReadableStream<Uint8Array>, length: number | null, events: UploadEvents) {
    this.#reader = body.getReader();
    this.#length = length;
    this.#events = events;
  }

  /** Never rejects. A body of known length has ended with its last byte. */
  async run(connection: Connection): Promise<void> {
    for (;;) {
      const piece = await this.#read();
      if (this.#isStopped || piece === undefined) return;
      if (piece === null && this.#length !== null) return this.#events.sourceFailed();
      try {
        if (piece !== null) {
          this.bytes += piece.length;
          if (piece.length > 0) await connection.write(this.#framed(piece));
        } else await connection.write(LAST_CHUNK);
      } catch {
        return this.stop();
      }
      this.#events.moved();
      this.isSent = piece === null || this.bytes === this.#length;
      if (this.isSent) return;
    }
  }

  /** Takes no more of the body. */
  stop(): void {
    if (this.#isStopped || this.isSent) return;
    this.#isStopped = true;
    this.#reader.cancel().catch(() => {});
  }

  /** The next piece, null at the end, undefined where there will be none. */
  async #read(): Promise<Uint8Array | null | undefined> {
    try {
      const { done, value } = await this.#reader.read();
      return done ? null : value;
    } catch {
      if (!this.#isStopped) this.#events.sourceFailed();
      return undefined;
    }
  }

  #framed(piece: Uint8Array): Uint8Array {
    if (this.#length !== null) return piece;
    const size = latin1Bytes(`${piece.length.toString(16)}\r\n`);
    const framed = new Uint8Array(size.length + piece.length + 2);
    framed.set(size);
    framed.set(piece, size.length);
    framed.set([13, 10], size.length + piece.length);
    return framed;
  }
}
