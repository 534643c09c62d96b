/**
 * One request of a caller: its head taken apart, its body to be read, and whether the caller is
 * still there. It has what the doors read of a request; {@link Incoming.authority} and target are
 * kept as they were sent, since no two readings of them may differ.
 */
import type { HeadLines } from './head.ts';
import { listOf, MalformedError, trimmed } from './head.ts';
import { HeaderLines } from './header_lines.ts';
import type { IncomingBody } from './incoming_body.ts';

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
const REST_BYTES_MAX = 64 * 1024;
const LENGTH = /^\d{1,15}$/;

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

export interface IncomingParts extends Opened {
  readonly headBytes: number;
  readonly framing: BodyFraming;
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
  /** null where there is none, or an empty one. */
  readonly body: IncomingBody | null;
  #isGone = false;
  #leaving: (() => void)[] | null = null;
  #gone: AbortController | null = null;

  constructor(parts: IncomingParts) {
    this.method = parts.method;
    this.target = parts.target;
    this.authority = parts.authority;
    this.minor = parts.minor;
    this.headers = parts.headers;
    this.headBytes = parts.headBytes;
    this.framing = parts.framing;
    this.body = parts.body;
  }

  /** Whether the caller wants the connection to be kept after the answer. */
  get isKeepAlive(): boolean {
    const words = listOf(this.headers, 'connection');
    return this.minor === 1 ? !words.includes('close') : words.includes('keep-alive');
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

/** Reads a request's head. @throws MalformedError */
export function openHead({ first, headers }: HeadLines): Opened {
  const line = REQUEST_LINE.exec(first);
  if (line === null) throw new MalformedError('a bad request line');
  const [, method = '', written = '', minor] = line;
  const lines = new HeaderLines(headers);
  const host = lines.get('host');
  if (host === null && minor === '1') throw new MalformedError('no Host');
  if (written.startsWith('/')) {
    const authority = host ?? '';
    return { method, target: written, authority, minor: Number(minor), headers: lines };
  }
  const absolute = ABSOLUTE.exec(written);
  const [, authority = host ?? '', rest = ''] = absolute ?? [];
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  const target = absolute === null ? written : path;
  return { method, target, authority, minor: Number(minor), headers: lines };
}

const NONE: BodyFraming = { kind: 'none' };
const CHUNKED: BodyFraming = { kind: 'chunked' };

/** How a request's body is framed. @throws MalformedError where it could be read in two ways */
export function framingOf({ headers, minor }: Opened): BodyFraming {
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (coding !== null) {
    if (length !== null) throw new MalformedError('a body that is framed in two ways');
    if (minor === 0 || coding.toLowerCase() !== 'chunked') {
      throw new MalformedError('a transfer coding other than chunked');
    }
    return CHUNKED;
  }
  if (length === null) return NONE;
  const [first = '', ...others] = length.split(',').map((each) => trimmed(each));
  if (!LENGTH.test(first) || others.some((other) => other !== first)) {
    throw new MalformedError('a Content-Length that is not one number');
  }
  return { kind: 'length', bytes: Number(first) };
}
