/**
 * Heads of HTTP/1.1 messages as bytes: finds where an answer's head ends, reads it, and writes a
 * request's. Strict on purpose: what two readers could take for two different messages (bare CR or
 * LF, folded lines, blanks before a colon) is malformed and never guessed at. Texts stand for bytes
 * one to one (Latin-1).
 */
export type HeaderLine = readonly [name: string, value: string];

export interface AnswerHead {
  readonly status: number;
  /** The minor version: 0 or 1. */
  readonly minor: number;
  /** In the order and case in which they came. */
  readonly headers: readonly HeaderLine[];
}

/** The upstream's answer is no well-formed HTTP/1.1. */
export class MalformedError extends Error {
  override name = 'MalformedError';
}

export const HEAD_BYTES_MAX = 64 * 1024;
const HEADERS_MAX = 512;
const CR = 13;
const LF = 10;

/** Finds the end of a head that comes in pieces; each byte is looked at once. */
export class HeadEnd {
  #at = 0;
  #lineAt = 0;

  /** The index behind the blank line, or -1 where it has not come yet. `bytes` only ever grows. */
  find(bytes: Uint8Array): number {
    for (; this.#at < bytes.length; this.#at++) {
      const byte = bytes[this.#at];
      const before = this.#at === 0 ? 0 : bytes[this.#at - 1];
      if ((before === CR) !== (byte === LF)) throw new MalformedError('a bare CR or LF');
      if (byte !== LF) continue;
      const isBlank = this.#at - this.#lineAt === 1;
      this.#lineAt = this.#at + 1;
      if (isBlank) return ++this.#at;
    }
    if (bytes.length > HEAD_BYTES_MAX) throw new MalformedError('a head that is too large');
    return -1;
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Reads a whole head, blank line included. */
export function readHead(bytes: Uint8Array): AnswerHead {
  const lines = latin1(bytes).split('\r\n');
  const status = STATUS_LINE.exec(lines[0] ?? '');
  if (status === null) throw new MalformedError('a bad status line');
  const headers: HeaderLine[] = [];
  if (lines.length - 3 > HEADERS_MAX) throw new MalformedError('too many headers');
  for (let at = 1; at < lines.length - 2; at++) headers.push(readLine(lines[at] as string));
  return { status: Number(status[2]), minor: Number(status[1]), headers };
}

function readLine(line: string): HeaderLine {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  if (colon < 1 || !NAME.test(name)) throw new MalformedError('a bad header name');
  const value = trimmed(line, colon + 1);
  if (CONTROL.test(value)) throw new MalformedError('a control character in a header');
  return [name, value];
}

/** Without the blanks and tabs around it. */
function trimmed(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

const PIECE = 8192;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes as a text of the same length. */
export function latin1(bytes: Uint8Array): string {
  // Nearly always ASCII, which the platform decodes several times faster. What is not shrinks, or
  // has the character that stands for bad bytes.
  const text = decoder.decode(bytes);
  if (text.length === bytes.length && !text.includes('\ufffd')) return text;
  let exact = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    exact += String.fromCharCode.apply(null, piece as unknown as number[]);
  }
  return exact;
}

/** A text of Latin-1 characters as bytes. */
export function latin1Bytes(text: string): Uint8Array {
  const ascii = encoder.encode(text);
  if (ascii.length === text.length) return ascii;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** The words of a list header (`a, b`) over all its lines, in lower case. */
export function listOf(headers: readonly HeaderLine[], name: string): string[] {
  const words: string[] = [];
  for (const [each, value] of headers) {
    if (each.length !== name.length || each.toLowerCase() !== name) continue;
    for (const word of value.split(',')) words.push(word.trim().toLowerCase());
  }
  return words;
}
