/**
 * The head of an upstream's answer.
 */
import type { Connection } from '../../http1/connection.ts';
import { type HeadEnd, linesOf, MalformedError } from '../../http1/head.ts';
import { HeaderLines } from '../../http1/header_lines.ts';

export interface AnswerHead {
  readonly status: number;
  /** The reason phrase; empty where there is none. */
  readonly reason: string;
  /** The minor version: 0 or 1. */
  readonly minor: number;
  readonly headers: HeaderLines;
}

const BEGINNING = 'HTTP/1.';
/** Some answer with statuses beyond 599 to those whom they take for robots. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;

/** Reads a whole head, blank line included. @throws MalformedError */
export function readAnswerHead(text: string): AnswerHead {
  const { first, headers } = linesOf(text);
  const status = STATUS_LINE.exec(first);
  if (status === null) throw new MalformedError('a bad status line');
  const [, minor, code, reason = ''] = status;
  return { status: Number(code), reason, minor: Number(minor), headers: new HeaderLines(headers) };
}

/** A head off the front of a connection; null where it has not come yet. @throws MalformedError */
export function takeHead(connection: Connection, headEnd: HeadEnd): AnswerHead | null {
  const end = headEnd.find(connection.ahead);
  if (end < 0) {
    // What speaks another protocol would not come to a blank line for long.
    const isOther = connection.aheadBytes > 0 &&
      !BEGINNING.startsWith(connection.textAhead(BEGINNING.length));
    if (isOther) throw new MalformedError('a bad status line');
    return null;
  }
  const head = readAnswerHead(connection.textAhead(end));
  connection.take(end);
  return head;
}
