/**
 * Keeps the body of an upstream's error while it passes, where it is short JSON: some vendors put
 * their retry hint there. It is read once and never kept beyond the request.
 */
import type { HeaderLine } from '../upstream/forward/head.ts';

const BYTES_MAX = 64 * 1024;
const decoder = new TextDecoder();

export class BodySample {
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** For an answer with these headers; null where its body is nothing that can be read. */
  static of(headers: readonly HeaderLine[]): BodySample | null {
    let isJson = false;
    for (const [name, value] of headers) {
      const lower = name.toLowerCase();
      if (lower === 'content-type') isJson = /\bjson\b/i.test(value);
      if (lower === 'content-encoding' && value.toLowerCase() !== 'identity') return null;
    }
    return isJson ? new BodySample() : null;
  }

  add(piece: Uint8Array | null): void {
    if (piece === null) return;
    this.#bytes += piece.length;
    if (this.#bytes <= BYTES_MAX) this.#pieces.push(piece.slice());
    else this.#pieces = [];
  }

  /** The JSON; undefined where it is none, or too long. */
  json(): unknown {
    if (this.#bytes > BYTES_MAX) return undefined;
    try {
      const text = this.#pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') +
        decoder.decode();
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
}
