/**
 * Between the platform's `Request` and `Response`, in which tests ask and read, and what the doors
 * take and give. A path goes in as it is written in `target`; the body comes by a line in memory.
 */
import { type Answer, isWhole, type Pieces } from '../../src/http1/answer.ts';
import { chunkOf, LAST_CHUNK } from '../../src/http1/chunks.ts';
import { Connection } from '../../src/http1/connection.ts';
import type { HeaderLine } from '../../src/http1/head.ts';
import { HeaderLines } from '../../src/http1/header_lines.ts';
import { Incoming, saysOf } from '../../src/http1/incoming.ts';
import { IncomingBody } from '../../src/http1/incoming_body.ts';
import type { Line } from '../../src/http1/line.ts';
import { answerError, type Respond } from '../../src/http/app.ts';
import type { Peer } from '../../src/http/server.ts';

export interface Ask {
  readonly method: string;
  readonly host: string;
  readonly target: string;
  /** A list comes as so many lines, where names repeat too. */
  readonly headers?: HeadersInit;
  /** A stream comes in chunks where no header declares its length, all else with its length. */
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

/** A request that came to a server. */
export function incoming(ask: Ask): Incoming {
  const { method, host, target, body, signal } = ask;
  const headers = new Headers(ask.headers);
  headers.set('host', host);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const isChunked = bytes instanceof ReadableStream && !headers.has('content-length');
  if (isChunked) headers.set('transfer-encoding', 'chunked');
  else if (bytes instanceof Uint8Array) headers.set('content-length', String(bytes.length));
  const length = isChunked ? null : Number(headers.get('content-length') ?? 0);
  const isEmpty = bytes === undefined || length === 0;
  const connection = new Connection(lineOf(bytes, isChunked));
  const lines = new HeaderLines(linesOf(headers, ask.headers));
  const opened = { method, target, authority: host, minor: 1, headers: lines };
  const request = new Incoming(opened, {
    headBytes: [...headers].flat().join('').length + target.length,
    says: saysOf(opened),
    body: isEmpty ? null : new IncomingBody(connection, { bytes: length, isAwaited: false }),
  });
  if (signal?.aborted === true) request.leave();
  signal?.addEventListener('abort', () => request.leave());
  return request;
}

/** What stands in several lines of a list is joined in `Headers`, and taken apart again here. */
function linesOf(headers: Headers, given: HeadersInit | undefined): HeaderLine[] {
  if (!Array.isArray(given)) return [...headers];
  const names = new Set(given.map(([name = '']) => name.toLowerCase()));
  const others = [...headers].filter(([name]) => !names.has(name));
  return [
    ...others,
    ...given.flatMap(([name = '', value = '']) => [...new Headers([[name, value]])]),
  ];
}

/** Asks, and tells the answer as a client would see it. */
export async function respond(app: Respond, ask: Ask, peer: Peer): Promise<Response> {
  try {
    return seenBy(ask, await app(incoming(ask), peer));
  } catch (error) {
    return seenBy(ask, answerError(error));
  }
}

/** As the connection sends it: of a body that the method has not, nothing is read. */
function seenBy({ method }: Ask, answer: Answer): Response {
  if (method !== 'HEAD') return responseOf(answer);
  if (!isWhole(answer.body)) answer.body.cancel();
  return responseOf({ ...answer, body: null });
}

export function responseOf({ status, headers, body }: Answer): Response {
  const lines = headers.split('\r\n').filter((line) => line !== '').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)] as [string, string];
  });
  const isPieces = body !== null && typeof body === 'object' && 'next' in body;
  const shown = isPieces ? streamOf(body) : body;
  return new Response(shown as BodyInit | null, { status, headers: lines });
}

function streamOf(pieces: Pieces): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const piece = await pieces.next();
      if (piece === null) controller.close();
      else controller.enqueue(piece);
    },
    cancel: () => pieces.cancel(),
  }, { highWaterMark: 0 });
}

function lineOf(
  body: Uint8Array | ReadableStream<Uint8Array> | undefined,
  isChunked: boolean,
): Line {
  const reader = body instanceof ReadableStream ? body.getReader() : null;
  let ahead = body instanceof Uint8Array ? body : new Uint8Array(0);
  let isOver = reader === null;
  return {
    read: async (into) => {
      if (ahead.length === 0 && !isOver) {
        const { value } = await (reader as ReadableStreamDefaultReader<Uint8Array>).read();
        isOver = value === undefined;
        if (isChunked) ahead = value === undefined ? LAST_CHUNK : chunkOf(value);
        else ahead = value ?? new Uint8Array(0);
      }
      if (ahead.length === 0) return null;
      const piece = ahead.subarray(0, into.length);
      into.set(piece);
      ahead = ahead.subarray(piece.length);
      return piece.length;
    },
    write: (bytes) => Promise.resolve(bytes.length),
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
}
