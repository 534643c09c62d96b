/**
 * Bodies in chunks, both ways: takes one apart as its bytes come in, whatever the pieces in which
 * they come, and makes chunks of pieces. Strict: a size is plain hexadecimal, every line ends with
 * CR LF, and nothing grows without bound.
 */
import type { Connection } from './connection.ts';
import { latin1Bytes, MalformedError } from './head.ts';

const SIZE_DIGITS_MAX = 12;
const EXTENSION_BYTES_MAX = 4096;
const TRAILER_BYTES_MAX = 16 * 1024;
const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const BLANK = 32;
const TAB = 9;

type State = 'size' | 'extension' | 'size-lf' | 'content' | 'cr' | 'lf' | 'trailer' | 'done';

export class Chunks {
  #state: State = 'size';
  #size = 0;
  #digits = 0;
  /** Bytes of the extension, or of the trailers, so far. */
  #extra = 0;
  #lineBytes = 0;
  #isCr = false;

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /**
   * Takes bytes off the front: at most up to the end of one chunk, or of the body.
   * @returns how many were taken, and which of them are content.
   */
  take(bytes: Uint8Array): { taken: number; content: Uint8Array | null } {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'content') {
        const length = Math.min(this.#size, bytes.length - at);
        const content = bytes.subarray(at, at + length);
        this.#size -= length;
        if (this.#size === 0) this.#state = 'cr';
        return { taken: at + this.#takeEnd(bytes, at, length), content };
      }
      this.#step(bytes[at++] as number);
    }
    return { taken: at, content: null };
  }

  /** Takes what follows a chunk's content where it is there already: its CR LF, the last chunk. */
  #takeEnd(bytes: Uint8Array, from: number, length: number): number {
    let at = from + length;
    while (at < bytes.length && !this.isDone && this.#state !== 'content') {
      this.#step(bytes[at++] as number);
    }
    return at - from;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        return this.#stepSize(byte);
      case 'extension':
        return this.#stepExtension(byte);
      case 'size-lf':
        expect(byte, LF);
        this.#state = this.#size === 0 ? 'trailer' : 'content';
        this.#digits = 0;
        this.#extra = 0;
        return;
      case 'cr':
        expect(byte, CR);
        this.#state = 'lf';
        return;
      case 'lf':
        expect(byte, LF);
        this.#state = 'size';
        return;
      default:
        return this.#stepTrailer(byte);
    }
  }

  #stepSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#digits > SIZE_DIGITS_MAX) throw new MalformedError('a chunk that is too large');
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw new MalformedError('a bad chunk size');
    if (byte === CR) this.#state = 'size-lf';
    else if (byte === SEMICOLON || byte === BLANK || byte === TAB) this.#state = 'extension';
    else throw new MalformedError('a bad chunk size');
    if (byte === BLANK || byte === TAB) this.#extra = -1;
  }

  /** Extensions are skipped. Blanks may stand between the size and the first semicolon only. */
  #stepExtension(byte: number): void {
    if (byte === CR) {
      this.#state = 'size-lf';
      return;
    }
    if (this.#extra < 0) {
      if (byte === SEMICOLON) this.#extra = 0;
      else if (byte !== BLANK && byte !== TAB) throw new MalformedError('a bad chunk size');
      return;
    }
    if (byte < BLANK && byte !== TAB) throw new MalformedError('a bad chunk extension');
    if (++this.#extra > EXTENSION_BYTES_MAX) throw new MalformedError('a long chunk extension');
  }

  /** Trailers are dropped: only their lines' ends and their size matter. */
  #stepTrailer(byte: number): void {
    if (++this.#extra > TRAILER_BYTES_MAX) throw new MalformedError('trailers that are too large');
    if (this.#isCr) {
      expect(byte, LF);
      this.#isCr = false;
      if (this.#lineBytes === 0) this.#state = 'done';
      this.#lineBytes = 0;
    } else if (byte === CR) this.#isCr = true;
    else if (byte < BLANK && byte !== TAB) throw new MalformedError('a bad trailer');
    else this.#lineBytes++;
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw new MalformedError('a bad end of a line in chunks');
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

export const LAST_CHUNK = latin1Bytes('0\r\n\r\n');

/** A piece as one chunk. */
export function chunkOf(piece: Uint8Array): Uint8Array {
  const size = latin1Bytes(`${piece.length.toString(16)}\r\n`);
  const chunk = new Uint8Array(size.length + piece.length + 2);
  chunk.set(size);
  chunk.set(piece, size.length);
  chunk.set([13, 10], size.length + piece.length);
  return chunk;
}

/** All content that is ahead on a connection, as one piece. @throws MalformedError */
export function contentAhead(connection: Connection, chunks: Chunks): Uint8Array {
  const piece = new Uint8Array(connection.aheadBytes);
  let at = 0;
  while (connection.aheadBytes > 0 && !chunks.isDone) {
    const { taken, content } = chunks.take(connection.ahead);
    if (content !== null) piece.set(content, at);
    at += content?.length ?? 0;
    connection.take(taken);
  }
  return piece.subarray(0, at);
}

/**
 * The next content off a connection; null at its last chunk, undefined where it ends before.
 * @param arrived is told of each read that brought something, be it less than any content.
 */
export async function readChunk(
  connection: Connection,
  chunks: Chunks,
  arrived: (() => void) | null = null,
): Promise<Uint8Array | null | undefined> {
  for (;;) {
    const { ahead } = connection;
    if (ahead.length > 0) {
      const { taken, content } = chunks.take(ahead);
      const piece = content?.slice() ?? null;
      connection.take(taken);
      if (piece !== null || chunks.isDone) return piece;
    }
    if (!await connection.fill()) return undefined;
    arrived?.();
  }
}
