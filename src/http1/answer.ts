/**
 * What a caller is answered, before it is bytes.
 */
import type { Connection } from './connection.ts';
import type { HeaderLine } from './head.ts';

/** A body that comes in pieces. */
export interface Pieces {
  /** Bytes of all of them; null where that is not known. */
  readonly bytes: number | null;
  /** The next piece; null at the end. Rejects where the body will never be whole. */
  next(): Promise<Uint8Array | null>;
  /**
   * Whether the last piece was given, where that is known before the end is asked for. No getter:
   * an object literal with one has a hidden class of its own in old memory, which keeps all that
   * the getter reaches until the next full collection.
   */
  readonly isEnded?: () => boolean;
  /** The caller went away: nothing more is wanted. */
  cancel(): void;
  /** Set by who sends it: told that it will never be whole, even while no piece is asked for. */
  broken?: () => void;
}

export type AnswerBody = string | Uint8Array | Pieces | null;

/** Whether all of it is there. */
export function isWhole(body: AnswerBody): body is Exclude<AnswerBody, Pieces> {
  return body === null || typeof body === 'string' || body instanceof Uint8Array;
}

export interface Answer {
  readonly status: number;
  /** The reason phrase, where it is not the usual one. */
  readonly reason?: string;
  /** Without those of the connection and of the body's framing; see {@link headerText}. */
  readonly headers: string;
  /** null where the status, or the method, has none. */
  readonly body: AnswerBody;
  /** Whether somebody else answered it, so that no `Date` is ours to add. */
  readonly isForwarded?: boolean;
  /** Sends the head of a 101 itself, and carries what comes after it, until it resolves. */
  readonly tunnel?: (caller: Connection, head: string) => Promise<void>;
}

/** What stands for no byte of a value, or would end its line. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** Headers as they are sent, each with its line end. @throws where a value cannot be sent */
export function headerText(headers: Readonly<Record<string, string>>): string {
  let text = '';
  for (const name in headers) text += headerLine([name, headers[name] as string]);
  return text;
}

export function headerLine([name, value]: HeaderLine): string {
  if (UNSENDABLE.test(value)) throw new Error(`the header ${name} cannot be sent as it is`);
  return `${name}: ${value}\r\n`;
}
