/**
 * One connection with the bytes that were read ahead of their use. A read may be under way while
 * nothing is wanted, so that a hang-up of the other side is noticed at once; the same read then
 * brings what comes next. One read and one write at a time.
 */
import { Buffer } from 'node:buffer';
import { latin1Bytes } from './head.ts';
import { LARGE_BYTES, largeBuffers } from './large_buffers.ts';
import type { Line } from './line.ts';
import { turns } from './turns.ts';
import { writeTurn } from './write_turn.ts';

/** The buffer that heads and small bodies come in, and the largest that is kept when empty. */
const SMALL_BYTES = 8 * 1024;
const KEPT_BYTES = 16 * 1024;
/** Nearly every head, with its body where that is short. */
const SHORT_BYTES = 2 * 1024;
const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();

export class Connection {
  readonly line: Line;
  #bytes: Uint8Array = new Uint8Array(SMALL_BYTES);
  /** The same bytes, to be read as a text. */
  #view = viewOf(this.#bytes);
  #start = 0;
  #end = 0;
  #reading: Promise<boolean> | null = null;
  /** Why it broke. */
  #failure: { readonly error: unknown } | null = null;
  /** Told at the end of each read whether more is to come. */
  heard: ((isThere: boolean) => void) | null = null;
  #isOpen = true;
  #isStreaming = false;
  #short: Uint8Array | null = null;

  constructor(line: Line) {
    this.line = line;
    turns.noteOpened();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What was read and not taken yet. */
  get ahead(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  get aheadBytes(): number {
    return this.#end - this.#start;
  }

  /** The first of the bytes ahead as a text of the same length (Latin-1), at most so many. */
  textAhead(bytesMax: number): string {
    const end = Math.min(this.#end, this.#start + bytesMax);
    return this.#view.toString('latin1', this.#start, end);
  }

  take(count: number): void {
    this.#start += count;
    if (this.#start < this.#end || this.#reading !== null) return;
    this.#start = this.#end = 0;
    // What a large head or body needed is not kept for the connection's life.
    if (this.#bytes.length > KEPT_BYTES) this.#use(new Uint8Array(SMALL_BYTES));
  }

  /** Reads more; false at the end, or where the connection broke. Never rejects. */
  more(): Promise<boolean> {
    if (this.#reading !== null) return this.#reading;
    this.#makeRoom();
    const room = this.#end === 0 ? this.#bytes : this.#bytes.subarray(this.#end);
    return this.#reading = this.line.read(room).then(this.#arrived, this.#broke);
  }

  /** The same, but rejects where the connection broke. */
  fill(): Promise<boolean> {
    return this.more().then(this.#whole);
  }

  /** Reads a piece of a body, the caller's to keep or to give back; null at the end. */
  async piece(bytesMax: number): Promise<Uint8Array | null> {
    if (this.#end === this.#start) {
      if (this.#isStreaming && this.#reading === null) return await this.#largePiece(bytesMax);
      if (!await this.fill()) return null;
    }
    this.#isStreaming = this.#end === this.#bytes.length;
    return this.pieceAhead(bytesMax);
  }

  /** A piece of what is ahead, the caller's to keep. */
  pieceAhead(bytesMax: number): Uint8Array {
    const piece = this.ahead.slice(0, bytesMax);
    this.take(piece.length);
    return piece;
  }

  /** Writes a head of Latin-1 characters. */
  writeHead(head: string): Promise<void> {
    return this.writeShort(head) ?? this.write(latin1Bytes(head));
  }

  /**
   * Writes a text and bytes behind it, when others that are ready write, too; null where the text
   * is not ASCII, or both are too long. The write before must have ended: one buffer serves all.
   */
  writeShort(text: string, body: Uint8Array = NOTHING): Promise<void> | null {
    if (text.length + body.length > SHORT_BYTES) return null;
    // Buffers made anew are freed on another thread, in bursts of a ms that hold up the machine.
    const buffer = this.#short ??= new Uint8Array(SHORT_BYTES);
    const { read, written } = encoder.encodeInto(text, buffer);
    // Where the buffer is full, as many bytes may be those of fewer characters.
    if (read !== text.length || written !== read) return null;
    if (body.length > 0) buffer.set(body, written);
    const bytes = buffer.subarray(0, written + body.length);
    return this.#writeInTurn(bytes);
  }

  async #writeInTurn(bytes: Uint8Array): Promise<void> {
    await writeTurn();
    const count = await this.line.write(bytes);
    if (count < bytes.length) await this.write(bytes.subarray(count));
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.line.write(bytes).then((count) =>
      count < bytes.length ? this.write(bytes.subarray(count)) : undefined
    );
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    turns.noteClosed();
    this.line.close();
  }

  /** Reads past the buffer; whoever fills meanwhile waits for it, too. */
  async #largePiece(bytesMax: number): Promise<Uint8Array | null> {
    const bytes = largeBuffers.take();
    const read = this.line.read(bytes.subarray(0, bytesMax));
    this.#reading = read.then(this.#passed, this.#broke);
    const count = await read;
    if (count === null) {
      largeBuffers.giveBack(bytes);
      return null;
    }
    this.#isStreaming = count >= SMALL_BYTES;
    if (count > LARGE_BYTES / 2) return bytes.subarray(0, count);
    // Whoever keeps pieces must not keep much more than their bytes.
    const piece = bytes.slice(0, count);
    largeBuffers.giveBack(bytes);
    return piece;
  }

  readonly #arrived = (count: number | null): boolean => {
    if (count !== null) this.#end += count;
    return this.#passed(count);
  };

  readonly #passed = (count: number | null): boolean => {
    this.#reading = null;
    turns.noteRead();
    this.heard?.(count !== null);
    return count !== null;
  };

  readonly #broke = (error: unknown): false => {
    this.#reading = null;
    this.#failure = { error };
    this.heard?.(false);
    return false;
  };

  readonly #whole = (isThere: boolean): boolean => {
    if (!isThere && this.#failure !== null) throw this.#failure.error;
    return isThere;
  };

  #makeRoom(): void {
    if (this.#end < this.#bytes.length) return;
    const { ahead } = this;
    const isFull = ahead.length > this.#bytes.length / 2;
    const bytes = isFull ? new Uint8Array(this.#bytes.length * 2) : this.#bytes;
    if (isFull) bytes.set(ahead);
    else bytes.copyWithin(0, this.#start, this.#end);
    this.#use(bytes);
    this.#start = 0;
    this.#end = ahead.length;
  }

  #use(bytes: Uint8Array): void {
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
