/**
 * Between the connections of callers and the routes, which read and answer with the platform's
 * `Request` and `Response`.
 */
import { headerLine } from '../http1/answer.ts';
import type { Answer, AnswerBody, Pieces } from '../http1/answer.ts';
import type { Incoming } from '../http1/incoming.ts';
import { pass } from '../http1/pass.ts';

/**
 * A request for the routes. HEAD comes to them as GET: who sends the answer leaves out its body,
 * and ends one that comes in pieces. @throws TypeError where the platform takes none such
 */
export function requestOf(incoming: Incoming, { isTls }: { isTls: boolean }): Request {
  const { target, authority, body } = incoming;
  const method = incoming.method === 'HEAD' ? 'GET' : incoming.method;
  const host = authority === '' ? 'localhost' : authority;
  const url = `${isTls ? 'https' : 'http'}://${host}${target}`;
  const headers = new Headers();
  incoming.headers.forEach((_, name) => headers.set(name, incoming.headers.get(name) as string));
  // The platform lets no such request have one, and no route reads it.
  const hasBody = body !== null && method !== 'GET';
  const request = new Request(url, {
    method,
    headers,
    signal: incoming.signal,
    ...(hasBody ? { body: streamOf(body), duplex: 'half' } : {}),
  } as RequestInit);
  // The platform tidies paths up; two readings of one path must not differ.
  Object.defineProperty(request, 'url', { value: url });
  return request;
}

function streamOf(body: NonNullable<Incoming['body']>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const piece = await body.read();
      if (piece === null) controller.close();
      else controller.enqueue(piece);
    },
  }, { highWaterMark: 0 });
}

/** What a route answered. */
export async function answerOf(response: Response): Promise<Answer> {
  let headers = '';
  try {
    for (const line of response.headers) headers += headerLine(line);
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const body = response.body === null ? null : await bodyOf(response.body.getReader());
  return { status: response.status, headers, body };
}

/** As one piece where that is all, and as pieces where more may come. */
async function bodyOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<AnswerBody> {
  const first = reader.read();
  const early = await Promise.race([first, pass()]);
  if (early?.done === true) return null;
  const second = early === undefined ? null : reader.read();
  const end = second === null ? undefined : await Promise.race([second, pass()]);
  if (end?.done === true) return early?.value ?? null;
  return piecesOf(reader, second === null ? [first] : [first, second]);
}

type Read = ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>;

function piecesOf(reader: ReadableStreamDefaultReader<Uint8Array>, begun: Read[]): Pieces {
  return {
    bytes: null,
    next: async () => (await (begun.shift() ?? reader.read())).value ?? null,
    cancel: () => void reader.cancel().catch(() => {}),
  };
}
