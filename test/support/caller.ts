/**
 * A caller's connection on a line in memory, answers whose pieces come when the test says so, and a
 * strict reader of what the caller was sent.
 */
import type { Answer, AnswerBody, Pieces } from '../../src/http1/answer.ts';
import { Caller, type TextAnswer } from '../../src/http1/caller.ts';
import type { Incoming } from '../../src/http1/incoming.ts';
import type { BodySource } from '../../src/http1/incoming_body.ts';
import { latin1Bytes } from '../../src/http1/head.ts';
import { MemoryLine } from './lines.ts';
import { latin1 } from './latin1.ts';

export const DATE = 'date: Mon, 30 Nov 2026 00:00:00 GMT\r\n';

export type Answerer = (request: Incoming) => Answer | Promise<Answer>;

export function ok(body: AnswerBody): Answer {
  return { status: 200, headers: '', body };
}

export function refuse(why: 'malformed' | 'head_too_large', message: string): TextAnswer {
  return { status: why === 'malformed' ? 400 : 431, headers: '', body: message };
}

export function failed(error: unknown): Answer {
  return { status: 500, headers: '', body: String(error) };
}

/** Serves a line; `isOver` tells whether that has come to its end. */
export function serve(answer: Answerer, line = new MemoryLine()) {
  const asked: Incoming[] = [];
  const caller = new Caller(line, null, {
    answer: (request) => {
      asked.push(request);
      return answer(request);
    },
    failed,
    refuse,
    date: () => DATE,
  });
  const served = { line, caller, asked, isOver: false, run: Promise.resolve() };
  served.run = caller.run().then(() => void (served.isOver = true));
  return served;
}

/** Lets all happen that needs no time, or less than turns may take. */
export async function settled(): Promise<void> {
  for (let passes = 0; passes < 5; passes++) await new Promise((done) => setImmediate(done));
}

/** All of a body. */
export async function textOf(body: BodySource | null): Promise<string> {
  let text = '';
  for (let piece = await body?.read(); piece != null; piece = await body?.read()) {
    text += latin1(piece);
  }
  return text;
}

/** Pieces of an answer that come as the test has them. */
export class Flow implements Pieces {
  readonly bytes: number | null;
  broken?: () => void;
  /** How often the next piece was asked for, and how often no more was wanted. */
  asks = 0;
  cancels = 0;
  readonly #coming: (string | null | Error)[] = [];
  #wake: (() => void) | null = null;

  constructor(bytes: number | null = null) {
    this.bytes = bytes;
  }

  /** null: the end. */
  gives(...pieces: (string | null | Error)[]): this {
    this.#coming.push(...pieces);
    this.#wake?.();
    return this;
  }

  async next(): Promise<Uint8Array | null> {
    this.asks++;
    while (this.#coming.length === 0) await new Promise<void>((done) => this.#wake = done);
    const [piece = null] = this.#coming;
    if (piece !== null) this.#coming.shift();
    if (piece instanceof Error) throw piece;
    return piece === null ? null : latin1Bytes(piece);
  }

  cancel(): void {
    this.cancels++;
  }
}

export interface ReadAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const HEAD = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e\x80-\xff]*\r\n((?:[!-9;-~]+: ?[^\r\n]*\r\n)*)\r\n/;
const CHUNK = /^([0-9a-f]+)\r\n/;

/** The answers that a caller was sent, in their order. @throws where they are not well-formed */
export function answersIn(sent: string, methods: readonly string[] = []): ReadAnswer[] {
  const answers: ReadAnswer[] = [];
  let rest = sent;
  let finals = 0;
  while (rest !== '') {
    const [head = '', code = '', lines = ''] = HEAD.exec(rest) ?? [];
    if (head === '') throw new Error(`no answer: ${JSON.stringify(rest)}`);
    rest = rest.slice(head.length);
    const status = Number(code);
    const headers = headersIn(lines);
    const method = status < 200 ? '' : methods[finals++];
    const isBare = method === 'HEAD' || status < 200 || status === 204 || status === 304;
    const body = isBare ? { text: '', length: 0 } : bodyIn(rest, headers);
    rest = rest.slice(body.length);
    if (headers.get('connection') === 'close' && rest !== '') throw new Error('behind the last');
    answers.push({ status, headers, body: body.text });
  }
  return answers;
}

function headersIn(lines: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines.split('\r\n').slice(0, -1)) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    if (headers.has(name)) throw new Error(`${name} comes twice`);
    headers.set(name, line.slice(name.length + 1).trim());
  }
  return headers;
}

/** The body at the front, and how many bytes it takes there. */
function bodyIn(rest: string, headers: ReadonlyMap<string, string>) {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (length !== undefined && coding !== undefined) throw new Error('framed in two ways');
  if (length !== undefined) {
    const text = rest.slice(0, Number(length));
    if (text.length !== Number(length)) throw new Error('shorter than its length');
    return { text, length: text.length };
  }
  if (coding === undefined) {
    if (headers.get('connection') !== 'close') throw new Error('a body without an end');
    return { text: rest, length: rest.length };
  }
  let text = '';
  for (let at = 0;;) {
    const [line = '', digits = ''] = CHUNK.exec(rest.slice(at)) ?? [];
    if (line === '') throw new Error('no chunk');
    const size = Number.parseInt(digits, 16);
    const end = at + line.length + size;
    if (rest.slice(end, end + 2) !== '\r\n') throw new Error('no end of a chunk');
    text += rest.slice(end - size, end);
    at = end + 2;
    if (size === 0) return { text, length: at };
  }
}
