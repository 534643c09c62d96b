/**
 * Reading request bodies within their ceilings: a size, declared or streamed, and a time. What is
 * wrong with a body is a value, so that each door answers it in its own way.
 */
import type { SignedBody } from '../access/policy.ts';
import { CEILINGS } from '../ceilings.ts';
import type { ByteBudget } from '../http1/byte_budget.ts';
import type { BodySource } from '../http1/incoming_body.ts';
import { largeBuffers } from '../http1/large_buffers.ts';
import type { Deadlines } from '../scheduler/deadlines.ts';

export type Body =
  /** Absent, empty, or nothing but white space. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'bad'; readonly reason: string };

/** The same as a policy is handed that judges a body. */
export type Bytes = SignedBody;

const EMPTY: Body = { kind: 'empty' };
export const TOO_LARGE = { kind: 'too_large' } as const;
const LATE = { kind: 'bad', reason: 'The body did not arrive in time.' } as const;
const BROKEN = { kind: 'bad', reason: 'The body broke off.' } as const;
const CROWDED = { kind: 'crowded' } as const;
const NOT_UTF8: Body = { kind: 'bad', reason: 'The body is not UTF-8.' };
const NOT_JSON: Body = { kind: 'bad', reason: 'The body is not JSON.' };

/** What each body may hold without asking the budget: no more than any lock body. */
const FREE_BYTES = CEILINGS.lockBodyBytes;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Whether a route's request has a body to read. */
export function hasBody(request: Request): boolean {
  return request.body !== null;
}

/** Reads the body of a route's request, at most `bytesMax` of it. */
export async function readBody(
  request: Request,
  { bytesMax, deadlines }: { bytesMax: number; deadlines: Deadlines },
): Promise<Bytes> {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return TOO_LARGE;
  if (request.body === null) return { kind: 'bytes', bytes: new Uint8Array(0) };
  const reader = request.body.getReader();
  const source = { read: async () => (await reader.read()).value ?? null };
  return await readBytes(source, { bytesMax, deadlines });
}

interface Reading {
  readonly bytesMax: number;
  readonly deadlines: Deadlines;
  readonly budget?: ByteBudget;
}

/** A body's bytes, at most `bytesMax` of them. */
export async function readBytes(
  source: BodySource,
  { bytesMax, deadlines, budget }: Reading,
): Promise<Bytes> {
  const limits = { bytesMax, budget, isLate: false };
  try {
    const bytes = await deadlines.race(readUpTo(source, limits), CEILINGS.bodyMs, null);
    limits.isLate = bytes === null;
    if (bytes === null) return LATE;
    if (bytes === 'crowded') return CROWDED;
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
  return jsonIn(await readBody(request, options), options.bytesMax);
}

/** What was read, as JSON of at most `bytesMax`. */
export function jsonIn(read: Bytes, bytesMax: number): Body {
  // Only what is larger than any JSON body may be has to ask the budget.
  if (read.kind === 'crowded') return TOO_LARGE;
  if (read.kind !== 'bytes') return read;
  return read.bytes.length > bytesMax ? TOO_LARGE : parseJson(read.bytes);
}

function parseJson(bytes: Uint8Array): Body {
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

interface Limits {
  readonly bytesMax: number;
  readonly budget: ByteBudget | undefined;
  /** Whether nobody waits for the body any more. */
  isLate: boolean;
}

async function readUpTo(
  source: BodySource,
  limits: Limits,
): Promise<Uint8Array | 'too_large' | 'crowded'> {
  const { bytesMax, budget } = limits;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let taken = 0;
  try {
    for (let chunk = await source.read(); chunk !== null; chunk = await source.read()) {
      size += chunk.byteLength;
      if (size > bytesMax) return 'too_large';
      if (limits.isLate) return 'crowded';
      if (budget !== undefined && size > FREE_BYTES) {
        if (!budget.take(chunk.byteLength)) return 'crowded';
        taken += chunk.byteLength;
      }
      chunks.push(chunk);
    }
  } finally {
    budget?.give(taken);
  }
  if (chunks.length === 1) return largeBuffers.keep(chunks[0] as Uint8Array);
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
