/**
 * The body of a request on its way to the upstream, piece by piece as the connection takes them.
 * While it takes none, some is read ahead: a caller that goes away is noticed by reading alone. An
 * upstream that stops reading is not a failure by itself: it may have answered already. A source
 * that breaks off is told of, since the request can then never be whole.
 */
import type { Connection } from './connection.ts';
import { latin1Bytes } from './head.ts';

const LAST_CHUNK = latin1Bytes('0\r\n\r\n');
const AHEAD_BYTES_MAX = 256 * 1024;

export interface UploadEvents {
  moved(): void;
  sourceFailed(): void;
}

export class Upload {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #length: number | null;
  readonly #events: UploadEvents;
  /** What was read and not sent yet. */
  readonly #ahead: Uint8Array[] = [];
  #aheadBytes = 0;
  #reading: Promise<void> | null = null;
  #isRead = false;
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
    while (!this.isSent) {
      while (this.#ahead.length === 0 && this.#mayRead) await this.#readOn();
      if (this.#isStopped) return;
      const piece = this.#ahead.shift();
      this.#aheadBytes -= piece?.length ?? 0;
      try {
        if (piece !== undefined) await this.#write(connection, this.#framed(piece));
        else if (this.#length === null) await connection.write(LAST_CHUNK);
      } catch {
        return this.stop();
      }
      this.#events.moved();
      this.isSent = piece === undefined || this.bytes === this.#length && this.#aheadBytes === 0;
    }
  }

  /** Takes no more of the body. */
  stop(): void {
    if (this.#isStopped || this.isSent) return;
    this.#isStopped = true;
    this.#reader.cancel().catch(() => {});
  }

  get #mayRead(): boolean {
    return !this.#isRead && !this.#isStopped;
  }

  async #write(connection: Connection, bytes: Uint8Array): Promise<void> {
    let isWritten = false;
    const written = connection.write(bytes).finally(() => isWritten = true);
    while (!isWritten && this.#mayRead && this.#aheadBytes < AHEAD_BYTES_MAX) {
      await Promise.race([written, this.#readOn()]);
    }
    await written;
  }

  /** Never rejects. */
  #readOn(): Promise<void> {
    return this.#reading ??= this.#read().finally(() => this.#reading = null);
  }

  async #read(): Promise<void> {
    try {
      const { done, value } = await this.#reader.read();
      if (this.#isStopped) return;
      if (done && this.#length !== null) return this.#fail();
      if (value !== undefined && value.length > 0) {
        this.#ahead.push(value);
        this.#aheadBytes += value.length;
        this.bytes += value.length;
      }
      this.#isRead = done || this.bytes === this.#length;
    } catch {
      if (!this.#isStopped) this.#fail();
    }
  }

  #fail(): void {
    this.#isStopped = true;
    this.#events.sourceFailed();
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
