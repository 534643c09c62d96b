/**
 * The body of a request as it comes off the caller's connection, read by one reader. A caller that
 * waits to be told to send it is told so by the first read.
 */
import { Chunks, readChunk } from './chunks.ts';
import type { Connection } from './connection.ts';
import { latin1Bytes, MalformedError } from './head.ts';

/** What a body is read from: one that comes, or one that was read before. */
export interface BodySource {
  /** The next piece, to keep or to give back; null at the end. Rejects where it broke off. */
  read(): Promise<Uint8Array | null>;
  /** Nothing more of it is wanted; what a read brings that is under way is dropped. */
  giveUp?(): void;
}

const CONTINUE = latin1Bytes('HTTP/1.1 100 Continue\r\n\r\n');
const GONE = 'the caller went away';

export interface IncomingBodyParts {
  /** Bytes of the body; null: it comes in chunks. */
  readonly bytes: number | null;
  /** Whether the caller waits for `100 Continue`. */
  readonly isAwaited: boolean;
}

export class IncomingBody implements BodySource {
  readonly #connection: Connection;
  readonly #chunks: Chunks | null;
  #left: number;
  #isAwaited: boolean;
  #isBegun = false;
  #reading: Promise<Uint8Array | null> | null = null;
  /** Told when nobody reads it any more, at its end or before. */
  ended: (() => void) | null = null;
  /** Told when the connection ends before it. */
  broken: (() => void) | null = null;

  constructor(connection: Connection, { bytes, isAwaited }: IncomingBodyParts) {
    this.#connection = connection;
    this.#chunks = bytes === null ? new Chunks() : null;
    this.#left = bytes ?? Infinity;
    this.#isAwaited = isAwaited;
  }

  /** Bytes that are still to be read; Infinity in chunks. */
  get left(): number {
    return this.#left;
  }

  /** Whether somebody reads it, who then hears of a caller that goes away. */
  get isBeingRead(): boolean {
    return this.#isBegun && this.#left > 0;
  }

  get isRead(): boolean {
    return this.#left === 0;
  }

  /** Whether the caller still waits to be told to send it. */
  get isAwaited(): boolean {
    return this.#isAwaited && this.#connection.aheadBytes === 0;
  }

  /** All of it, where it has come with the head; else null, and nothing is taken. */
  whole(): Uint8Array | null {
    if (this.#chunks !== null || this.#connection.aheadBytes < this.#left) return null;
    const bytes = this.#connection.ahead.slice(0, this.#left);
    this.#connection.take(this.#left);
    this.#end();
    return bytes;
  }

  /**
   * Who reads while another does gets the same piece: a reader may have given up on it. Who has
   * given up neither reads the piece nor gives it back.
   */
  read(): Promise<Uint8Array | null> {
    return this.#reading ??= this.#read().finally(() => this.#reading = null);
  }

  giveUp(): void {
    this.#isBegun = false;
    this.ended?.();
  }

  async #read(): Promise<Uint8Array | null> {
    if (this.#left === 0) return null;
    this.#isBegun = true;
    if (this.isAwaited) await this.#connection.write(CONTINUE);
    this.#isAwaited = false;
    try {
      return await this.#readPiece();
    } catch (error) {
      // Bad chunks come from a caller that is there, and can be told.
      if (!(error instanceof MalformedError)) this.broken?.();
      throw error;
    }
  }

  async #readPiece(): Promise<Uint8Array | null> {
    const connection = this.#connection;
    const chunks = this.#chunks;
    const piece = chunks === null
      ? await connection.piece(this.#left) ?? undefined
      : await readChunk(connection, chunks);
    if (piece === undefined) throw new Error(GONE);
    if (chunks === null) this.#left -= piece?.length ?? 0;
    if (this.#left === 0 || chunks?.isDone === true) this.#end();
    return piece;
  }

  #end(): void {
    this.#left = 0;
    this.ended?.();
  }
}

/** A body that was read before. */
export function sourceOf(bytes: Uint8Array): BodySource {
  let left: Uint8Array | null = bytes;
  return {
    read: () => {
      const piece = left;
      left = null;
      return Promise.resolve(piece);
    },
  };
}
