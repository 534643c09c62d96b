/**
 * The body of a request on its way to the upstream, piece by piece as the connection takes them.
 * While it takes none, some is read ahead: a caller that goes away is noticed by reading alone. An
 * upstream that stops reading is not a failure by itself: it may have answered already. A source
 * that breaks off is told of, since the request can then never be whole.
 */
import { chunkOf, LAST_CHUNK } from '../../http1/chunks.ts';
import type { Connection } from '../../http1/connection.ts';
import type { BodySource } from '../../http1/incoming_body.ts';
import { largeBuffers } from '../../http1/large_buffers.ts';

const AHEAD_BYTES_MAX = 256 * 1024;

export interface UploadEvents {
  moved(): void;
  sourceFailed(error: unknown): void;
}

export class Upload {
  readonly #body: BodySource;
  readonly #length: number | null;
  readonly #events: UploadEvents;
  /** What was read and not sent yet. */
  readonly #ahead: Uint8Array[] = [];
  #aheadBytes = 0;
  #reading: Promise<void> | null = null;
  #isRead = false;
  #isStopped = false;
  isSent = false;
  /** Whether the connection broke under it. */
  isBroken = false;
  bytes = 0;

  /** @param length bytes that the body has; null: sent in chunks. */
  constructor(body: BodySource, length: number | null, events: UploadEvents) {
    this.#body = body;
    this.#length = length;
    this.#events = events;
    body.arrived = () => events.moved();
  }

  /** Never rejects. A body of known length has ended with its last byte. */
  async run(connection: Connection): Promise<void> {
    while (!this.isSent) {
      while (this.#ahead.length === 0 && this.#mayRead) await this.#readOn();
      if (this.#isStopped) return;
      const piece = this.#ahead.shift();
      this.#aheadBytes -= piece?.length ?? 0;
      try {
        if (piece !== undefined) await this.#write(connection, piece);
        else if (this.#length === null) await connection.write(LAST_CHUNK);
      } catch {
        this.isBroken = true;
        return this.stop();
      }
      this.#events.moved();
      this.isSent = piece === undefined || this.bytes === this.#length && this.#aheadBytes === 0;
    }
  }

  /** Takes no more of the body. */
  stop(): void {
    if (this.isSent || this.#isStopped) return;
    this.#isStopped = true;
    this.#body.giveUp?.();
  }

  get #mayRead(): boolean {
    return !this.#isRead && !this.#isStopped;
  }

  async #write(connection: Connection, piece: Uint8Array): Promise<void> {
    let isWritten = false;
    const written = connection.write(this.#framed(piece)).finally(() => isWritten = true);
    while (!isWritten && this.#mayRead && this.#aheadBytes < AHEAD_BYTES_MAX) {
      await Promise.race([written, this.#readOn()]);
    }
    await written;
    largeBuffers.giveBack(piece);
  }

  /** Never rejects. */
  #readOn(): Promise<void> {
    return this.#reading ??= this.#read().finally(() => this.#reading = null);
  }

  async #read(): Promise<void> {
    try {
      const piece = await this.#body.read();
      if (this.#isStopped) return;
      if (piece === null && this.#length !== null) return this.#fail(new Error('too short'));
      if (piece !== null && piece.length > 0) {
        this.#events.moved();
        this.#ahead.push(piece);
        this.#aheadBytes += piece.length;
        this.bytes += piece.length;
      }
      this.#isRead = piece === null || this.bytes === this.#length;
    } catch (error) {
      if (!this.#isStopped) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#isStopped = true;
    this.#events.sourceFailed(error);
  }

  #framed(piece: Uint8Array): Uint8Array {
    return this.#length === null ? chunkOf(piece) : piece;
  }
}
