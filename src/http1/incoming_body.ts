/**
 * The body of a request as it comes off the caller's connection, read by one reader. A caller that
 * waits to be told to send it is told so by the first read.
 */
import { Chunks, contentAhead, readChunk } from './chunks.ts';
import type { Connection } from './connection.ts';
import { latin1Bytes, MalformedError } from './head.ts';
import { HeldPieces } from './held_pieces.ts';

/** What a body is read from: one that comes, or one that was read before. */
export interface BodySource {
  /** The next piece, to keep or to give back; null at the end. Rejects where it broke off. */
  read(): Promise<Uint8Array | null>;
  /** Nothing more of it is wanted; what a read brings that is under way is dropped. */
  giveUp?(): void;
  /** Set by who reads it: told of bytes that came, be they less than a piece. */
  arrived?: (() => void) | null;
}

const CONTINUE = latin1Bytes('HTTP/1.1 100 Continue\r\n\r\n');
const GONE = 'the caller went away';
/** Made once: what has a stack is dear, and nearly every body is dropped in the end. */
const UNWANTED = new Error('nobody wanted the body');

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
  /** Made for the few bodies that need it. */
  #held: HeldPieces | null = null;
  /** What a reader meets behind what is held. */
  #failure: Error | null = null;
  /** Told when nobody reads it any more, at its end or before. */
  ended: (() => void) | null = null;
  /** Told when the connection ends before it. */
  broken: (() => void) | null = null;
  arrived: (() => void) | null = null;

  constructor(connection: Connection, { bytes, isAwaited }: IncomingBodyParts) {
    this.#connection = connection;
    this.#chunks = bytes === null ? new Chunks() : null;
    this.#left = bytes ?? Infinity;
    this.#isAwaited = isAwaited;
  }

  /** Bytes that are still to be taken off the connection; Infinity in chunks. */
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
    const isInPart = this.#chunks !== null || this.#held !== null;
    if (isInPart || this.#connection.aheadBytes < this.#left) return null;
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
    this.drop();
    this.ended?.();
  }

  /**
   * Takes what has come of it off the connection, for who reads it later. False where that is
   * nothing, or too much for it or for all.
   */
  hold(): boolean {
    const bytes = Math.min(this.#connection.aheadBytes, this.#left);
    if (bytes === 0 || this.#failure !== null) return false;
    const held = this.#held ??= new HeldPieces();
    if (!held.reserve(bytes)) return false;
    this.#isAwaited = false;
    try {
      held.push(this.#pieceAhead());
    } catch (error) {
      this.#failure = error as MalformedError;
      held.drop();
      return false;
    }
    return true;
  }

  /** Nobody reads the rest any more: who does all the same fails. */
  drop(): void {
    const isLost = this.#left > 0 || this.#held?.isEmpty === false;
    if (isLost) this.#failure ??= UNWANTED;
    this.#held?.drop();
  }

  /** Takes the rest off the connection, for nobody. */
  async skip(): Promise<void> {
    this.drop();
    while (!this.isRead) await (this.#reading ?? this.#readPiece());
  }

  async #read(): Promise<Uint8Array | null> {
    this.#isBegun = true;
    const held = this.#held?.shift() ?? null;
    if (held !== null) return held;
    if (this.#failure !== null) throw this.#failure;
    if (this.#left === 0) return null;
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
      : await readChunk(connection, chunks, this.arrived);
    if (piece === undefined) throw new Error(GONE);
    if (chunks === null) this.#left -= piece?.length ?? 0;
    if (this.#left === 0 || chunks?.isDone === true) this.#end();
    return piece;
  }

  #pieceAhead(): Uint8Array {
    const chunks = this.#chunks;
    const piece = chunks === null
      ? this.#connection.pieceAhead(this.#left)
      : contentAhead(this.#connection, chunks);
    if (chunks === null) this.#left -= piece.length;
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
