/**
 * Heads of HTTP/1.1 messages as bytes: finds where one ends, and takes its lines apart. Strict on
 * purpose: what two readers could take for two different messages (bare CR or LF, folded lines,
 * blanks before a colon) is malformed and never guessed at. Texts stand for bytes one to one
 * (Latin-1).
 */
export type HeaderLine = readonly [name: string, value: string];

/** A head as it came: its first line, and its headers in their order and case. */
export interface HeadLines {
  readonly first: string;
  readonly headers: readonly HeaderLine[];
}

/** What came is no well-formed HTTP/1.1. */
export class MalformedError extends Error {
  override name = 'MalformedError';
}

export class HeadTooLargeError extends MalformedError {
  override name = 'HeadTooLargeError';
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
      if (this.#at > HEAD_BYTES_MAX) break;
    }
    if (this.#at > HEAD_BYTES_MAX) throw new HeadTooLargeError('a head that is too large');
    return -1;
  }
}

/** At most what a number holds exactly, and than any body has. */
const LENGTH = /^\d{1,15}$/;

/** Whether a Content-Length is one number of bytes. */
export function isLength(text: string): boolean {
  return LENGTH.test(text);
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Beside the line ends, which are sound once the end of the head was found. */
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Takes a whole head apart, blank line included. @throws MalformedError */
export function linesOf(text: string): HeadLines {
  if (CONTROL.test(text)) throw new MalformedError('a control character in a header');
  const lines = text.split('\r\n');
  if (lines.length - 3 > HEADERS_MAX) throw new HeadTooLargeError('too many headers');
  const headers: HeaderLine[] = [];
  for (let at = 1; at < lines.length - 2; at++) headers.push(readLine(lines[at] as string));
  return { first: lines[0] as string, headers };
}

function readLine(line: string): HeaderLine {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  if (colon < 1 || !NAME.test(name)) throw new MalformedError('a bad header name');
  return [name, trimmed(line, colon + 1)];
}

/** Without the blanks and tabs around it. */
export function trimmed(line: string, from = 0): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

const encoder = new TextEncoder();

/** A text of Latin-1 characters as bytes. */
export function latin1Bytes(text: string): Uint8Array {
  const ascii = encoder.encode(text);
  if (ascii.length === text.length) return ascii;
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
