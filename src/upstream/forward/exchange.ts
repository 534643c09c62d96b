/**
 * One request sent to an upstream, at most once, and its answer, read as it comes. Both bodies move
 * only as fast as the slower side takes them. Whatever ends an exchange early closes its
 * connection; only one that ended cleanly on both sides gives it back.
 */
import { Chunks, readChunk } from '../../http1/chunks.ts';
import { HeadEnd, MalformedError } from '../../http1/head.ts';
import type { BodySource } from '../../http1/incoming_body.ts';
import { pass } from '../../http1/pass.ts';
import { type AnswerHead, takeHead } from './answer_head.ts';
import type { Connections } from './connections.ts';
import type { Cut } from './forward_error.ts';
import { cutError, failureOf, ForwardError } from './forward_error.ts';
import type { Framing } from './framing.ts';
import { framingOf, isKept } from './framing.ts';
import type { Guard, Watched } from './guard.ts';
import type { Origin } from './dial.ts';
import type { UpstreamConnection } from './upstream_connection.ts';
import { Upload } from './upload.ts';

export interface Call {
  readonly origin: Origin;
  readonly method: string;
  /** The request's head with its blank line, in Latin-1 characters. */
  readonly head: string;
  readonly body: BodySource | null;
  /** Bytes that the body has; null: sent in chunks. */
  readonly bodyBytes: number | null;
  readonly isUpgrade?: boolean;
  readonly limits: Limits;
  /** Called where the exchange was ended before its end, even while nobody reads the answer. */
  readonly wasCut?: (cut: Cut) => void;
}

export interface Limits {
  readonly connectTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly requestTimeoutMs: number | null;
}

export interface Means {
  readonly connections: Connections;
  readonly guard: Guard;
  readonly nowMs: () => number;
}

export class Exchange implements Watched {
  readonly #call: Call;
  readonly #means: Means;
  readonly startedAtMs: number;
  #connection: UpstreamConnection | null = null;
  #upload: Upload | null = null;
  #head: AnswerHead | null = null;
  #framing: Framing = { kind: 'none' };
  #left = 0;
  #chunks: Chunks | null = null;
  #cut: Cut | null = null;
  #failure: ForwardError | null = null;
  #isOver = false;
  #tellCut: ((cut: Cut) => void) | null = null;
  #hasMoved = true;
  place = -1;
  /** Since when no byte has moved, to within the guard's sweep. */
  quietSinceMs: number;
  bytesOut = 0;

  constructor(call: Call, means: Means) {
    this.#call = call;
    this.#means = means;
    this.startedAtMs = this.quietSinceMs = means.nowMs();
  }

  get bytesIn(): number {
    return this.#upload?.bytes ?? 0;
  }

  /** Sends the request, and resolves with the final answer's head. @throws ForwardError */
  async answer(): Promise<AnswerHead> {
    this.#means.guard.add(this);
    try {
      const { origin, head, body, bodyBytes } = this.#call;
      const { connections } = this.#means;
      const connection = await connections.takeIdle(origin) ?? await this.#dial(origin);
      this.#connection = connection;
      if (this.#cut !== null) throw cutError(this.#cut);
      await connection.writeHead(head);
      if (body !== null) {
        this.#upload = new Upload(body, bodyBytes, {
          moved: () => this.#hasMoved = true,
          sourceFailed: (error) =>
            this.abort(error instanceof MalformedError ? 'malformed' : 'gone'),
        });
        void this.#upload.run(connection);
      }
      return await this.#readAnswer(connection);
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /** Whether all of the body was read with the head, so that it can be had at once. */
  get isWhole(): boolean {
    const { kind } = this.#framing;
    if (kind === 'none') return true;
    return kind === 'length' && (this.#connection?.aheadBytes ?? 0) >= this.#left;
  }

  /** Bytes of the body, where its head tells them. */
  get bodyBytes(): number | null {
    return this.#framing.kind === 'length' ? this.#framing.bytes : null;
  }

  /** Whether nothing of the body is left to be read. */
  get isEnded(): boolean {
    return this.#isOver && this.#cut === null && this.#failure === null;
  }

  /** The body where it {@link isWhole}; null where there is none. @throws ForwardError */
  takeWhole(): Uint8Array | null {
    const connection = this.#connectionIfLeft();
    if (connection === null) return null;
    const piece = connection.pieceAhead(this.#left);
    this.#left = 0;
    this.bytesOut += piece.length;
    this.#end(connection);
    return piece;
  }

  /** The next piece of the body; null at its end. @throws ForwardError */
  async next(): Promise<Uint8Array | null> {
    const connection = this.#connectionIfLeft();
    if (connection === null) return null;
    try {
      const piece = await this.#piece(connection);
      if (this.#cut !== null) throw cutError(this.#cut);
      this.#hasMoved = true;
      if (piece !== null) this.bytesOut += piece.length;
      if (piece === null || this.#left === 0) this.#end(connection);
      return piece;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /** Ends the exchange now: the connection is closed, and who waits for it hears so. */
  abort(cut: Cut): void {
    if (this.#isOver) return;
    this.#cut = cut;
    this.#stop();
    this.#tellCut?.(cut);
    this.#call.wasCut?.(cut);
  }

  /** The connection of an answered upgrade, now the caller's to close. */
  detach(): UpstreamConnection | null {
    const connection = this.#connection;
    this.#connection = null;
    this.#isOver = true;
    this.#means.guard.remove(this);
    return connection;
  }

  look(nowMs: number): void {
    const { limits } = this.#call;
    if (this.#hasMoved) {
      this.#hasMoved = false;
      this.quietSinceMs = nowMs;
    }
    const ageMs = nowMs - this.startedAtMs;
    if (limits.requestTimeoutMs !== null && ageMs >= limits.requestTimeoutMs) this.abort('overdue');
    else if (this.#connection === null) {
      if (ageMs >= limits.connectTimeoutMs) this.abort('connect');
    } else if (nowMs - this.quietSinceMs >= limits.stallTimeoutMs) this.abort('stall');
  }

  /** Where the rest of the body comes from; null at its end. @throws ForwardError */
  #connectionIfLeft(): UpstreamConnection | null {
    if (!this.#isOver && this.#connection !== null) return this.#connection;
    if (this.#cut !== null) throw cutError(this.#cut);
    if (this.#failure !== null) throw this.#failure;
    return null;
  }

  async #dial(origin: Origin): Promise<UpstreamConnection> {
    if (this.#cut !== null) throw cutError(this.#cut);
    const givenUp = new AbortController();
    const taken = this.#means.connections.dial(origin, givenUp.signal);
    const cut = new Promise<Cut>((told) => this.#tellCut = told);
    const first = await Promise.race([taken, cut]);
    this.#tellCut = null;
    if (typeof first !== 'string') return first;
    taken.then((connection) => connection.close(), () => {});
    givenUp.abort();
    throw cutError(first);
  }

  async #readAnswer(connection: UpstreamConnection): Promise<AnswerHead> {
    // Some send 102 again and again as a sign of life, for as long as the request may take.
    for (;;) {
      const headEnd = new HeadEnd();
      let head = takeHead(connection, headEnd);
      while (head === null) {
        if (!await connection.fill()) throw new ForwardError('upstream_unreachable', HUNG_UP);
        this.#hasMoved = true;
        head = takeHead(connection, headEnd);
      }
      const isSwitch = head.status === 101;
      if (isSwitch && this.#call.isUpgrade !== true) throw new MalformedError('an upgrade');
      if (head.status < 200 && !isSwitch) continue;
      this.#head = head;
      const framing = framingOf(head, this.#call.method);
      this.#framing = framing;
      this.#left = framing.kind === 'length' ? framing.bytes : framing.kind === 'none' ? 0 : -1;
      if (framing.kind === 'chunked') this.#chunks = new Chunks();
      if (framing.kind === 'none' && !isSwitch) this.#end(connection);
      return head;
    }
  }

  async #piece(connection: UpstreamConnection): Promise<Uint8Array | null> {
    switch (this.#framing.kind) {
      case 'length': {
        const piece = await connection.piece(this.#left);
        if (piece === null) throw new MalformedError('a body shorter than its length');
        this.#left -= piece.length;
        return piece;
      }
      case 'chunked':
        return await this.#chunkedPiece(connection, this.#chunks as Chunks);
      case 'close': {
        const piece = await connection.piece(Infinity);
        if (piece === null && await this.#isUploadBroken()) throw new MalformedError(BROKEN_OFF);
        return piece;
      }
      default:
        return null;
    }
  }

  /** A write that fails takes the news of a reset, and reads then find a plain end. */
  async #isUploadBroken(): Promise<boolean> {
    const upload = this.#upload;
    if (upload === null || upload.isSent) return false;
    // Both may have been told in one turn of the event loop.
    await pass();
    return upload.isBroken;
  }

  async #chunkedPiece(
    connection: UpstreamConnection,
    chunks: Chunks,
  ): Promise<Uint8Array | null> {
    const piece = await readChunk(connection, chunks, () => this.#hasMoved = true);
    if (piece === undefined) throw new MalformedError('chunks that break off');
    if (chunks.isDone) this.#left = 0;
    return piece;
  }

  /** The answer's end, as it was framed: the connection may serve again, or is closed. */
  #end(connection: UpstreamConnection): void {
    if (this.#isOver) return;
    const isSent = this.#upload?.isSent ?? true;
    const isKeeping = isSent && connection.aheadBytes === 0 && this.#head !== null &&
      isKept(this.#head, this.#framing);
    if (!isKeeping) return this.#stop();
    this.#isOver = true;
    this.#means.guard.remove(this);
    this.#connection = null;
    connection.idleMsMax = idleMsOf(this.#head as AnswerHead);
    this.#means.connections.give(connection);
  }

  #stop(): void {
    this.#isOver = true;
    this.#means.guard.remove(this);
    this.#upload?.stop();
    this.#connection?.close();
  }

  /** Ends the exchange for what went wrong; where it was cut before, that is what went wrong. */
  #fail(error: unknown): ForwardError {
    this.#failure ??= this.#cut === null ? failureOf(error) : cutError(this.#cut);
    this.#stop();
    return this.#failure;
  }
}

const BROKEN_OFF = 'a body that broke off';
const HUNG_UP = 'The upstream closed the connection before it answered.';

/** A second less than the upstream says that it keeps idle connections. */
function idleMsOf(head: AnswerHead): number {
  const timeout = head.headers.words('keep-alive').find((word) => /^timeout=\d{1,6}$/.test(word));
  return timeout === undefined ? Infinity : Number(timeout.slice(8)) * 1000 - 1000;
}
