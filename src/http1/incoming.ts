/**
 * One request of a caller: its head taken apart, its body to be read, and whether the caller is
 * still there. It has what the doors read of a request; {@link Incoming.authority} and target are
 * kept as they were sent, since no two readings of them may differ.
 */
import type { HeadLines } from './head.ts';
import { isLength, MalformedError } from './head.ts';
import { HeaderLines } from './header_lines.ts';
import type { IncomingBody } from './incoming_body.ts';

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const TARGET = /^[\x21-\x7e\x80-\xff]+$/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
const REST_BYTES_MAX = 64 * 1024;

export interface Opened {
  readonly method: string;
  /** Path and query exactly as they were sent; `*` and the target of CONNECT as they are. */
  readonly target: string;
  /** What a target of absolute form names, else `Host`; empty where there is neither. */
  readonly authority: string;
  /** The minor version: 0 or 1. */
  readonly minor: number;
  readonly headers: HeaderLines;
}

export type BodyFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' };

/** What the headers of a request, and its version, say of the connection and the body. */
export interface Says {
  readonly framing: BodyFraming;
  /** Whether the caller waits for `100 Continue` before it sends the body. */
  readonly isAwaited: boolean;
  /** Whether the caller wants the connection to be kept after the answer. */
  readonly isKeepAlive: boolean;
}

export interface IncomingParts {
  readonly headBytes: number;
  readonly says: Says;
  readonly body: IncomingBody | null;
}

export class Incoming {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly minor: number;
  readonly headers: HeaderLines;
  readonly headBytes: number;
  readonly framing: BodyFraming;
  readonly isKeepAlive: boolean;
  /** null where there is none, or an empty one. */
  readonly body: IncomingBody | null;
  #isGone = false;
  #leaving: (() => void)[] | null = null;
  #gone: AbortController | null = null;

  constructor(opened: Opened, { headBytes, says, body }: IncomingParts) {
    this.method = opened.method;
    this.target = opened.target;
    this.authority = opened.authority;
    this.minor = opened.minor;
    this.headers = opened.headers;
    this.headBytes = headBytes;
    this.framing = says.framing;
    this.isKeepAlive = says.isKeepAlive;
    this.body = body;
  }

  /** Whether so little of the body is left that it can be read for nothing. */
  get isRestShort(): boolean {
    const { body } = this;
    return body === null || body.isRead || !body.isAwaited && body.left <= REST_BYTES_MAX;
  }

  /** Aborted once the caller has gone away before its answer was sent whole. */
  get signal(): AbortSignal {
    if (this.#gone === null) {
      const gone = this.#gone = new AbortController();
      this.whenGone(() => gone.abort());
    }
    return this.#gone.signal;
  }

  /** The same as a call, at once where it has gone already. */
  whenGone(told: () => void): void {
    if (this.#isGone) told();
    else if (this.#leaving === null) this.#leaving = [told];
    else this.#leaving.push(told);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Told by the connection. */
  leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const told of this.#leaving ?? []) told();
  }
}

/** Whether it may stand in a request line, of which it is known that it ends there. */
export function isTarget(text: string): boolean {
  return TARGET.test(text);
}

/** Reads a request's head. @throws MalformedError */
export function openHead({ first, headers }: HeadLines): Opened {
  const opened = openLine(first, new HeaderLines(headers));
  if (opened === null) throw new MalformedError('a bad request line');
  const hasHost = opened.headers.get('host') !== null;
  if (!hasHost && opened.minor === 1) throw new MalformedError('no Host');
  return opened;
}

/** Puts a request line to its headers; null where it is none. */
function openLine(first: string, headers: HeaderLines): Opened | null {
  const line = REQUEST_LINE.exec(first);
  if (line === null) return null;
  const [, method = '', written = '', digit] = line;
  const minor = Number(digit);
  const host = headers.get('host') ?? '';
  if (written.startsWith('/')) return { method, target: written, authority: host, minor, headers };
  const absolute = ABSOLUTE.exec(written);
  const [, authority = host, rest = ''] = absolute ?? [];
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return { method, target: absolute === null ? written : path, authority, minor, headers };
}

/** @throws MalformedError where the body could be read in two ways */
export function saysOf(opened: Opened): Says {
  const { headers, minor } = opened;
  const words = headers.words('connection');
  return {
    framing: framingOf(opened),
    isAwaited: minor === 1 && headers.get('expect')?.toLowerCase() === '100-continue',
    isKeepAlive: minor === 1 ? !words.includes('close') : words.includes('keep-alive'),
  };
}

const NONE: BodyFraming = { kind: 'none' };
const CHUNKED: BodyFraming = { kind: 'chunked' };

/** How a request's body is framed. @throws MalformedError where it could be read in two ways */
export function framingOf({ headers, minor }: Opened): BodyFraming {
  const coding = headers.get('transfer-encoding');
  const lengths = headers.words('content-length');
  if (coding !== null) {
    if (lengths.length > 0) throw new MalformedError('a body that is framed in two ways');
    if (minor === 0 || coding.toLowerCase() !== 'chunked') {
      throw new MalformedError('a transfer coding other than chunked');
    }
    return CHUNKED;
  }
  if (lengths.length === 0) return NONE;
  const [first = '', ...others] = lengths;
  if (!isLength(first) || others.some((other) => other !== first)) {
    throw new MalformedError('a Content-Length that is not one number');
  }
  return { kind: 'length', bytes: Number(first) };
}
