/**
 * Where the body of an answer ends: by its status and the request's method, by length, by chunks,
 * or by the end of the connection. Anything that could be read in two ways is malformed.
 */
import { isLength, MalformedError } from '../../http1/head.ts';
import type { AnswerHead } from './answer_head.ts';

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** The body ends with the connection. */
  | { readonly kind: 'close' };

const NONE: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };
const CLOSE: Framing = { kind: 'close' };

export function framingOf(head: AnswerHead, method: string): Framing {
  const { status, headers } = head;
  const codings = headers.words('transfer-encoding');
  const lengths = headers.words('content-length');
  const [length] = lengths;
  if (length !== undefined) {
    if (!isLength(length)) throw new MalformedError('a bad content-length');
    if (lengths.some((other) => other !== length)) throw new MalformedError('two content-lengths');
  }
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return NONE;
  if (codings.length > 0) {
    if (length !== undefined) throw new MalformedError('content-length with transfer-encoding');
    if (codings.length > 1 || codings[0] !== 'chunked' || head.minor === 0) {
      throw new MalformedError('a transfer-encoding other than chunked');
    }
    return CHUNKED;
  }
  if (length !== undefined) {
    return length === '0' ? NONE : { kind: 'length', bytes: Number(length) };
  }
  return status === 205 ? NONE : CLOSE;
}

function isFramed({ headers }: AnswerHead): boolean {
  return headers.words('transfer-encoding').length > 0 ||
    headers.words('content-length').some((length) => length !== '0');
}

/** Whether the connection may carry another request, once this answer has ended as framed. */
export function isKept(head: AnswerHead, framing: Framing): boolean {
  if (head.minor === 0 || framing.kind === 'close') return false;
  // Some send the body that these statuses cannot have; the next answer must not begin with it.
  if (head.status === 204 && isFramed(head)) return false;
  if (head.status === 304 && head.headers.words('transfer-encoding').length > 0) return false;
  return !head.headers.words('connection').includes('close');
}
