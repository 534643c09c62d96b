/**
 * An answer as the bytes of HTTP/1.1: the head with what frames the body, and pieces in chunks.
 */
import { STATUS_CODES } from 'node:http';
import { type Answer, isWhole } from './answer.ts';
import { latin1Bytes } from './head.ts';

/** How the body's end is told: by a length, by chunks, by the connection's end; or it has none. */
export type AnswerFraming = 'none' | 'length' | 'chunked' | 'close';

export interface Surroundings {
  readonly method: string;
  /** The minor version of the request: 0 or 1. */
  readonly minor: number;
  /** Whether the connection stays open. */
  readonly isKept: boolean;
  /** A whole header line. */
  readonly date: string;
}

const encoder = new TextEncoder();

/** How the end of an answer's body is told to who asked so. */
export function framingOfAnswer(
  { status, body }: Answer,
  { method, minor }: Pick<Surroundings, 'method' | 'minor'>,
): AnswerFraming {
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return 'none';
  if (isWhole(body) || body.bytes !== null) return 'length';
  return minor === 0 ? 'close' : 'chunked';
}

/** The head up to its length and blank line; of a switch of protocols all of it. */
export function headOf(answer: Answer, framing: AnswerFraming, around: Surroundings): string {
  const { status, headers, reason = STATUS_CODES[status] ?? '', isForwarded = false } = answer;
  let head = `HTTP/1.1 ${status} ${reason}\r\n${headers}`;
  if (!isForwarded) head += around.date;
  if (status === 101) return `${head}\r\n`;
  if (framing === 'chunked') head += 'transfer-encoding: chunked\r\n';
  if (!around.isKept) head += 'connection: close\r\n';
  else if (around.minor === 0) head += 'connection: keep-alive\r\n';
  return head;
}

/** A head to its end, where a body of so many bytes follows. */
export function headWithLength(head: string, bytes: number): string {
  return `${head}content-length: ${bytes}\r\n\r\n`;
}

/** Head and body as a text, which is what is sent where it is ASCII. */
export function wholeText(head: string, body: string): string {
  return headWithLength(head, body.length) + body;
}

/** Head and body of an answer whose body is there. */
export function wholeBytes(head: string, text: string | Uint8Array): Uint8Array {
  const body = typeof text === 'string' ? encoder.encode(text) : text;
  const start = latin1Bytes(headWithLength(head, body.length));
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}
