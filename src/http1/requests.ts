/**
 * Takes one request after another off the front of a connection, as their bytes come.
 */
import type { Connection } from './connection.ts';
import { HeadEnd, linesOf, MalformedError } from './head.ts';
import { framingOf, Incoming, openHead } from './incoming.ts';
import { IncomingBody } from './incoming_body.ts';

const CR = 13;
const LF = 10;

export class Requests {
  readonly #connection: Connection;
  #headEnd = new HeadEnd();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The next request, or why what came is none; null where its head has not come yet. */
  next(): Incoming | MalformedError | null {
    const connection = this.#connection;
    if (connection.ahead.length === 0) return null;
    try {
      this.#skipBlankLines();
      // Half a blank line, it may be.
      if (connection.ahead.length === 1 && connection.ahead[0] === CR) return null;
      // TLS on a plain port, say: it would not come to a line's end for long.
      if (!mayBegin(connection.ahead[0])) throw new MalformedError('no HTTP');
      const end = this.#headEnd.find(connection.ahead);
      if (end < 0) return null;
      this.#headEnd = new HeadEnd();
      return this.#open(end);
    } catch (error) {
      if (error instanceof MalformedError) return error;
      throw error;
    }
  }

  /** Some callers send a line end behind a body (RFC 9112, 2.2). */
  #skipBlankLines(): void {
    const { ahead } = this.#connection;
    let at = 0;
    while (ahead[at] === CR && ahead[at + 1] === LF) at += 2;
    if (at > 0) this.#connection.take(at);
  }

  /** @throws MalformedError */
  #open(end: number): Incoming {
    const connection = this.#connection;
    const opened = openHead(linesOf(connection.ahead.subarray(0, end)));
    const framing = framingOf(opened);
    connection.take(end);
    const isAwaited = opened.minor === 1 &&
      opened.headers.get('expect')?.toLowerCase() === '100-continue';
    const bytes = framing.kind === 'length' ? framing.bytes : null;
    const isEmpty = framing.kind === 'none' || bytes === 0;
    const body = isEmpty ? null : new IncomingBody(connection, { bytes, isAwaited });
    return new Incoming({ ...opened, headBytes: end, framing, body });
  }
}

/** Whether a request may begin so; also where nothing has come yet. */
function mayBegin(byte: number | undefined): boolean {
  return byte === undefined || byte === CR || byte > 32 && byte < 127;
}
