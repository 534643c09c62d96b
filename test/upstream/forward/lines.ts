/**
 * Lines in memory: what an upstream sends is scripted in pieces, and what it was sent is recorded.
 */
import type { Line } from '../../../src/upstream/forward/line.ts';
import { latin1, latin1Bytes } from '../../../src/upstream/forward/head.ts';

export class MemoryLine implements Line {
  readonly remote = { hostname: '127.0.0.1', port: 1 };
  readonly local = null;
  sent = '';
  isClosed = false;
  /** Once it was sent so many bytes it takes no more. */
  bytesMax = Infinity;
  #pieces: Uint8Array[] = [];
  #end: 'open' | 'end' | 'reset' = 'open';
  #wake: (() => void) | null = null;

  /** The upstream sends a piece; it is read as one piece. */
  gives(...pieces: (string | Uint8Array)[]): this {
    for (const piece of pieces) {
      const bytes = typeof piece === 'string' ? latin1Bytes(piece) : piece;
      if (bytes.length > 0) this.#pieces.push(bytes);
    }
    this.#wake?.();
    return this;
  }

  ends(how: 'end' | 'reset' = 'end'): this {
    this.#end = how;
    this.#wake?.();
    return this;
  }

  async read(into: Uint8Array): Promise<number | null> {
    for (;;) {
      if (this.isClosed) throw new Error('closed');
      const [piece] = this.#pieces;
      if (piece !== undefined) {
        const count = Math.min(piece.length, into.length);
        into.set(piece.subarray(0, count));
        if (count === piece.length) this.#pieces.shift();
        else this.#pieces[0] = piece.subarray(count);
        return count;
      }
      if (this.#end === 'end') return null;
      if (this.#end === 'reset') throw new Error('reset');
      await new Promise<void>((done) => this.#wake = done);
    }
  }

  write(bytes: Uint8Array): Promise<number> {
    if (this.isClosed) return Promise.reject(new Error('closed'));
    if (this.sent.length >= this.bytesMax) return new Promise(() => {});
    const count = Math.min(bytes.length, 1000);
    this.sent += latin1(bytes.subarray(0, count));
    return Promise.resolve(count);
  }

  close(): void {
    this.isClosed = true;
    this.#wake?.();
  }
}

/** A text cut at the given places. */
export function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places].filter((at) => at < text.length).sort((a, b) => a - b);
  return [...ends, text.length].map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}
