/**
 * Keeps the body of an upstream's answer while it passes, where it is short JSON: some vendors put
 * their retry hint there, and some refuse with a 200. It is read once and never kept beyond the
 * request. A packed one is unpacked for this reader alone, within bounds whatever it would come to.
 */
import { Buffer } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { AnswerHead } from '../upstream/forward/answer_head.ts';
import { TOLD_WITH_200 } from '../upstream/verdict.ts';

/** Of a body as it came, and of one that was unpacked. */
const BYTES_MAX = 64 * 1024;
const ANY = /^/;
const decoder = new TextDecoder();

type Unpack = (bytes: Uint8Array) => Uint8Array;
const BOUND = { maxOutputLength: BYTES_MAX };
/** By content coding; each throws where the bytes are broken, or come to too much. */
const UNPACKS: ReadonlyMap<string | undefined, Unpack> = new Map([
  ['gzip', (bytes) => gunzipSync(bytes, BOUND)],
  ['x-gzip', (bytes) => gunzipSync(bytes, BOUND)],
  ['deflate', (bytes) => inflateSync(bytes, BOUND)],
  ['br', unbrotli],
]);
/** RFC 7932, 9.1: a stream's lowest bits tell its window; these are set for 8 and 16 MiB alone. */
const LARGE_WINDOW = 0b1101;
const asItCame: Unpack = (bytes) => bytes;

export class BodySample {
  readonly #wanted: RegExp;
  readonly #unpack: Unpack;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** @param wanted what a text must hold to be parsed. */
  private constructor(wanted: RegExp, unpack: Unpack) {
    this.#wanted = wanted;
    this.#unpack = unpack;
  }

  /** For an answer with this head; null where its body is nothing that is to be read. */
  static of({ status, headers }: AnswerHead): BodySample | null {
    if (status !== 200 && status < 400) return null;
    if (!/\bjson\b/i.test(headers.get('content-type') ?? '')) return null;
    const codings = headers.words('content-encoding').filter((word) => word !== 'identity');
    const wanted = status === 200 ? TOLD_WITH_200 : ANY;
    if (codings.length === 0) return new BodySample(wanted, asItCame);
    // To unpack every answer, for the few refusals among those with 200, would cost too much.
    const unpack = codings.length === 1 && status !== 200 ? UNPACKS.get(codings[0]) : undefined;
    return unpack === undefined ? null : new BodySample(wanted, unpack);
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
      const text = decoder.decode(this.#unpack(Buffer.concat(this.#pieces)));
      return this.#wanted.test(text) ? JSON.parse(text) : undefined;
    } catch {
      return undefined;
    }
  }
}

/**
 * A decoder of brotli fills its window before it gives anything out: a few bytes may cost as much
 * as the largest window. What answers are packed with by default, 4 MiB, is the most that is read.
 */
function unbrotli(bytes: Uint8Array): Uint8Array {
  const isLarge = ((bytes[0] ?? 0) & LARGE_WINDOW) === LARGE_WINDOW;
  if (isLarge) throw new RangeError('the window of a brotli body is larger than 4 MiB');
  return brotliDecompressSync(bytes, BOUND);
}
