/**
 * Takes one request after another off the front of a connection, as their bytes come.
 */
import type { Connection } from './connection.ts';
import { HeadEnd, linesOf, MalformedError } from './head.ts';
import type { Opened, Says } from './incoming.ts';
import { Incoming, isTarget, openHead, saysOf } from './incoming.ts';
import { IncomingBody } from './incoming_body.ts';

const CR = 13;
const LF = 10;

/** A head of no more is compared with the one before. */
const ALIKE_BYTES_MAX = 1024;

/** What another request is compared with. */
interface Last {
  readonly opened: Opened;
  readonly says: Says;
  /** Its head up to the slash that begins the target, and from behind the target to its end. */
  readonly before: string;
  readonly after: string;
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

  /** The next one where its head is, byte for byte, the last but for the target: most are. */
  #nextAlike(): Incoming | null {
    const last = this.#last;
    if (last === null) return null;
    const { before, after, opened, says } = last;
    const text = this.#connection.textAhead(ALIKE_BYTES_MAX);
    if (!text.startsWith(before)) return null;
    const targetEnd = text.indexOf(' ', before.length);
    const end = targetEnd + after.length;
    // A slice is compared by words, and by characters what it would be looked for in.
    if (targetEnd < 0 || text.slice(targetEnd, end) !== after) return null;
    const target = text.slice(before.length - 1, targetEnd);
    return isTarget(target) ? this.#open({ ...opened, target }, { end, says }) : null;
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
    const opened = openHead(linesOf(text));
    const says = saysOf(opened);
    this.#last = end > ALIKE_BYTES_MAX ? null : lastOf(text, opened, says);
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

/** Null where its target is not a path as it was sent. */
function lastOf(text: string, opened: Opened, says: Says): Last | null {
  const before = `${opened.method} /`;
  const targetEnd = before.length - 1 + opened.target.length;
  if (!text.startsWith(opened.target, before.length - 1)) return null;
  return { opened, says, before, after: text.slice(targetEnd) };
}

/** Whether a request may begin so; also where nothing has come yet. */
function mayBegin(byte: number | undefined): boolean {
  return byte === undefined || byte === CR || byte > 32 && byte < 127;
}
