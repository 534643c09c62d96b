/**
 * Keeps the body of an upstream's answer while it passes, where it is short JSON: some vendors put
 * their retry hint there, and some refuse with a 200. It is read once and never kept beyond the
 * request.
 */
import type { AnswerHead } from '../upstream/forward/answer_head.ts';
import { TOLD_WITH_200 } from '../upstream/verdict.ts';

const BYTES_MAX = 64 * 1024;
const ANY = /^/;
const decoder = new TextDecoder();

export class BodySample {
  readonly #wanted: RegExp;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** @param wanted what a text must hold to be parsed. */
  private constructor(wanted: RegExp) {
    this.#wanted = wanted;
  }

  /** For an answer with this head; null where its body is nothing that is to be read. */
  static of({ status, headers }: AnswerHead): BodySample | null {
    if (status !== 200 && status < 400) return null;
    if (headers.words('content-encoding').some((word) => word !== 'identity')) return null;
    const isJson = /\bjson\b/i.test(headers.get('content-type') ?? '');
    return isJson ? new BodySample(status === 200 ? TOLD_WITH_200 : ANY) : null;
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
      return this.#wanted.test(text) ? JSON.parse(text) : undefined;
    } catch {
      return undefined;
    }
  }
}
