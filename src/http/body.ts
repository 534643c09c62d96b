/**
 * Reading request bodies within their ceilings: a size, declared or streamed, and a time. What is
 * wrong with a body is a value, so that each door answers it in its own way.
 */
import { CEILINGS } from '../ceilings.ts';
import type { Deadlines } from '../scheduler/deadlines.ts';

export type Body =
  /** Absent, empty, or nothing but white space. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'bad'; readonly reason: string };

export type Bytes =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'bad'; readonly reason: string };

const EMPTY: Body = { kind: 'empty' };
const TOO_LARGE = { kind: 'too_large' } as const;
const LATE = { kind: 'bad', reason: 'The body did not arrive in time.' } as const;
const BROKEN = { kind: 'bad', reason: 'The body broke off.' } as const;
const NOT_UTF8: Body = { kind: 'bad', reason: 'The body is not UTF-8.' };
const NOT_JSON: Body = { kind: 'bad', reason: 'The body is not JSON.' };

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Whether there is a body to read; asked first, since most acquires have none. */
export function hasBody(request: Request): boolean {
  const declared = request.headers.get('content-length');
  return declared === null ? request.body !== null : declared !== '0';
}

/** The body's bytes, at most `bytesMax` of them. */
export async function readBytes(
  request: Request,
  options: { bytesMax: number; deadlines: Deadlines },
): Promise<Bytes> {
  const { bytesMax, deadlines } = options;
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) > bytesMax) return TOO_LARGE;
  try {
    const read = declared === null ? readUpTo(request, bytesMax) : request.bytes();
    const bytes = await deadlines.race(read, CEILINGS.bodyMs, null);
    if (bytes === null) return LATE;
    return bytes === 'too_large' ? TOO_LARGE : { kind: 'bytes', bytes };
  } catch {
    return BROKEN;
  }
}

/** Reads a JSON body of at most `bytesMax`. */
export async function readJson(
  request: Request,
  options: { bytesMax: number; deadlines: Deadlines },
): Promise<Body> {
  const read = await readBytes(request, options);
  return read.kind === 'bytes' ? parseJson(read.bytes) : read;
}

/** What bytes mean as JSON. */
export function parseJson(bytes: Uint8Array): Body {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return NOT_UTF8;
  }
  if (text.trim() === '') return EMPTY;
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch {
    return NOT_JSON;
  }
}

async function readUpTo(request: Request, bytesMax: number): Promise<Uint8Array | 'too_large'> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > bytesMax) return 'too_large';
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
