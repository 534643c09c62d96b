/**
 * Lines in memory: what the other side sends is scripted in pieces, and what it was sent is
 * recorded.
 */
import { latin1Bytes } from '../../src/http1/head.ts';
import type { Line } from '../../src/http1/line.ts';
import { latin1 } from './latin1.ts';

export class MemoryLine implements Line {
  sent = '';
  /** Bytes that were read off it. */
  given = 0;
  /** How often it was closed. */
  closes = 0;
  /** Whether it was told that nothing more will come. */
  isWriteClosed = false;
  /** Once it was sent so many bytes it takes no more. */
  bytesMax = Infinity;
  #pieces: Uint8Array[] = [];
  #end: 'open' | 'end' | 'reset' = 'open';
  #waiting: (() => void)[] = [];

  get isClosed(): boolean {
    return this.closes > 0;
  }

  /** Whether the other side has sent what nobody has read yet. */
  get hasUnread(): boolean {
    return this.#pieces.length > 0 && !this.isClosed;
  }

  /** The other side sends a piece; it is read as one piece. */
  gives(...pieces: (string | Uint8Array)[]): this {
    for (const piece of pieces) {
      const bytes = typeof piece === 'string' ? latin1Bytes(piece) : piece;
      if (bytes.length > 0) this.#pieces.push(bytes);
    }
    this.#wake();
    return this;
  }

  /** The other side takes all that it is sent from now on. */
  takes(): void {
    this.bytesMax = Infinity;
    this.#wake();
  }

  ends(how: 'end' | 'reset' = 'end'): this {
    this.#end = how;
    this.#wake();
    return this;
  }

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      if (this.isClosed) throw new Error('closed');
      const [piece] = this.#pieces;
      if (piece !== undefined) {
        const count = Math.min(piece.length, into.length);
        into.set(piece.subarray(0, count));
        this.given += count;
        if (count === piece.length) this.#pieces.shift();
        else this.#pieces[0] = piece.subarray(count);
        return count;
      }
      if (this.#end === 'end') return null;
      if (this.#end === 'reset') throw new Error('reset');
      await this.#change();
    }
  }

  async write(bytes: Uint8Array): Promise<number> {
    for (;;) {
      if (this.isClosed || this.isWriteClosed) throw new Error('closed');
      const count = Math.min(bytes.length, 1000, this.bytesMax - this.sent.length);
      if (count > 0) {
        this.sent += latin1(bytes.subarray(0, count));
        return count;
      }
      if (this.#end === 'reset') throw new Error('reset');
      await this.#change();
    }
  }

  closeWrite(): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('closed'));
    this.isWriteClosed = true;
    return Promise.resolve();
  }

  close(): void {
    this.closes++;
    this.#wake();
  }

  #change(): Promise<void> {
    return new Promise((done) => this.#waiting.push(done));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done();
  }
}

/** A text cut at the given places. */
export function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places].filter((at) => at < text.length).sort((a, b) => a - b);
  return [...ends, text.length].map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}
