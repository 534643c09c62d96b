/**
 * Takes one request after another off the front of a connection, as their bytes come.
 */
import type { Connection } from './connection.ts';
import { HeadEnd, linesOf, MalformedError } from './head.ts';
import type { Opened, Says } from './incoming.ts';
import { Incoming, openHead, openLine, saysOf } from './incoming.ts';
import { IncomingBody } from './incoming_body.ts';

const CR = 13;
const LF = 10;

/** A head of no more is compared with the one before. */
const ALIKE_BYTES_MAX = 1024;

interface Last {
  /** All of its head but the first line. */
  readonly block: string;
  readonly opened: Opened;
  readonly says: Says;
}

export class Requests {
  readonly #connection: Connection;
  #headEnd: HeadEnd | null = null;
  #last: Last | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The next request, or why what came is none; null where its head has not come yet. */
  next(): Incoming | MalformedError | null {
    if (this.#connection.aheadBytes === 0) return null;
    try {
      return this.#nextAlike() ?? this.#nextOther();
    } catch (error) {
      if (error instanceof MalformedError) return error;
      throw error;
    }
  }

  /** The next one where its headers are, byte for byte, those of the last: they mostly are. */
  #nextAlike(): Incoming | null {
    const last = this.#last;
    if (last === null) return null;
    const text = this.#connection.textAhead(ALIKE_BYTES_MAX);
    const lineEnd = text.indexOf('\r\n');
    if (lineEnd < 0 || !text.startsWith(last.block, lineEnd)) return null;
    const opened = openLine(text.slice(0, lineEnd), last.opened.headers);
    if (opened === null || opened.minor !== last.opened.minor) return null;
    return this.#open(opened, { end: lineEnd + last.block.length, says: last.says });
  }

  /** @throws MalformedError */
  #nextOther(): Incoming | null {
    const connection = this.#connection;
    this.#skipBlankLines();
    const { ahead } = connection;
    // Half a blank line, it may be.
    if (ahead.length === 1 && ahead[0] === CR) return null;
    // TLS on a plain port, say: it would not come to a line's end for long.
    if (!mayBegin(ahead[0])) throw new MalformedError('no HTTP');
    this.#headEnd ??= new HeadEnd();
    const end = this.#headEnd.find(ahead);
    if (end < 0) return null;
    const text = connection.textAhead(end);
    const lines = linesOf(text);
    const opened = openHead(lines);
    const says = saysOf(opened);
    const block = text.slice(lines.first.length);
    this.#last = end > ALIKE_BYTES_MAX ? null : { block, opened, says };
    return this.#open(opened, { end, says });
  }

  /** Some callers send a line end behind a body (RFC 9112, 2.2). */
  #skipBlankLines(): void {
    const { ahead } = this.#connection;
    let at = 0;
    while (ahead[at] === CR && ahead[at + 1] === LF) at += 2;
    if (at > 0) this.#connection.take(at);
  }

  #open(opened: Opened, { end, says }: { end: number; says: Says }): Incoming {
    const connection = this.#connection;
    this.#headEnd = null;
    connection.take(end);
    const { framing, isAwaited } = says;
    const bytes = framing.kind === 'length' ? framing.bytes : null;
    const isEmpty = framing.kind === 'none' || bytes === 0;
    const body = isEmpty ? null : new IncomingBody(connection, { bytes, isAwaited });
    return new Incoming(opened, { headBytes: end, says, body });
  }
}

/** Whether a request may begin so; also where nothing has come yet. */
function mayBegin(byte: number | undefined): boolean {
  return byte === undefined || byte === CR || byte > 32 && byte < 127;
}
