/**
 * One caller's connection: reads requests one after another, has each answered, and sends the
 * answer. While an answer is made or sent the connection is read on, so that a caller that goes
 * away is noticed at once; what it sends behind its request waits its turn.
 */
import type { Answer, Pieces } from './answer.ts';
import type { AnswerFraming, Surroundings } from './answer_bytes.ts';
import { framingOfAnswer, headOf, wholeBytes, wholeText } from './answer_bytes.ts';
import { chunkOf, LAST_CHUNK } from './chunks.ts';
import { Connection } from './connection.ts';
import { HeadTooLargeError, latin1Bytes, type MalformedError } from './head.ts';
import { Incoming } from './incoming.ts';
import type { IncomingBody } from './incoming_body.ts';
import { largeBuffers } from './large_buffers.ts';
import type { Line } from './line.ts';
import { Requests } from './requests.ts';
import { turns } from './turns.ts';

/** What callers are answered with. */
export interface Answering<Peer> {
  readonly answer: (request: Incoming, peer: Peer) => Answer | Promise<Answer>;
  /** The answer where that failed. */
  readonly failed: (error: unknown) => Answer;
  /** The answer to what is no request. */
  readonly refuse: (why: 'malformed' | 'head_too_large', message: string) => Refusal;
  /** The current `Date` line. */
  readonly date: () => string;
}

export interface Refusal extends Answer {
  readonly body: string;
}

/**
 * What is waited for: a request's first byte, the rest of its head (or of a body that nobody
 * wants), the answer, or that the caller takes an answer that is there as a whole.
 */
export type Waiting = 'idle' | 'head' | 'answer' | 'sent';

/** Read ahead of a caller whose answer is being made; beyond it a hang-up goes unnoticed. */
const AHEAD_BYTES_MAX = 64 * 1024;
/** How long a caller may go on sending what nobody reads, so that it can read its answer. */
const LINGER_MS = 2_000;

export class Caller<Peer> {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #peer: Peer;
  readonly #answering: Answering<Peer>;
  #waiting: Waiting = 'head';
  #isLast = false;
  /** Ends what is being sent. */
  #cancel: (() => void) | null = null;
  /** The request that is being answered, and the one whose caller is watched. */
  #request: Incoming | null = null;
  #watched: Incoming | null = null;
  /** Sweeps of {@link Serving} that it has waited so. */
  sweeps = 0;

  constructor(line: Line, peer: Peer, answering: Answering<Peer>) {
    this.#connection = new Connection(line);
    this.#connection.heard = this.#heard;
    this.#requests = new Requests(this.#connection);
    this.#peer = peer;
    this.#answering = answering;
  }

  get waiting(): Waiting {
    return this.#waiting;
  }

  /** Answers the request that is under way, or the next one, and nothing after it. */
  answerOnce(): void {
    this.#isLast = true;
  }

  /** Answers what is under way, and nothing after it. */
  finish(): void {
    this.answerOnce();
    const isAsked = this.#waiting === 'answer' || this.#waiting === 'sent';
    if (!isAsked && this.#connection.aheadBytes === 0) this.close();
  }

  close(): void {
    this.#connection.close();
  }

  /** Serves the connection to its end. Never rejects. */
  async run(): Promise<void> {
    const connection = this.#connection;
    try {
      // One loop without steps of its own: each function that waits costs every request some.
      for (;;) {
        let next = this.#requests.next();
        while (next === null) {
          if (this.#waiting === 'idle' && connection.aheadBytes > 0) this.#wait('head');
          const others = turns.forOthers();
          // A read that was under way may end meanwhile.
          if (others !== null) await others;
          else if (!await connection.more()) return this.close();
          next = this.#requests.next();
        }
        if (!(next instanceof Incoming)) return await this.#refuse(next);
        let answer: Answer;
        try {
          const answered = this.#ask(next);
          answer = answered instanceof Promise ? await answered : answered;
        } catch (error) {
          answer = this.#answering.failed(error);
        }
        if (answer.tunnel !== undefined) return await this.#tunnel(answer, answer.tunnel);
        if (next.isGone) return cancel(answer);
        const framing = framingOfAnswer(answer, next);
        const isKept = framing !== 'close' && !this.#isLast &&
          next.isKeepAlive && next.isRestShort;
        await this.#send(next, answer, { framing, isKept });
        this.#request = null;
        if (!isKept) return void this.#linger();
        if (next.body?.isRead === false) await this.#readRest(next.body);
        if (this.#isLast) return this.close();
        this.#wait(connection.aheadBytes > 0 ? 'head' : 'idle');
      }
    } catch {
      // The connection broke, or was closed: whoever was concerned has been told.
      this.close();
    }
  }

  /** Has a request answered, and watches its caller meanwhile. */
  #ask(request: Incoming): Answer | Promise<Answer> {
    this.#wait('answer');
    this.#request = request;
    const { body } = request;
    if (body !== null) {
      body.ended = () => this.#watch(request);
      body.broken = () => this.#goneAway(request);
    }
    const answered = this.#answering.answer(request, this.#peer);
    if (answered instanceof Promise) this.#watch(request);
    return answered;
  }

  /** So that the connection can be used again. */
  async #readRest(body: IncomingBody): Promise<void> {
    this.#wait('head');
    while (!body.isRead) await body.read();
  }

  #wait(what: Waiting): void {
    this.#waiting = what;
    this.sweeps = 0;
  }

  /** Reads on until the caller goes away, unless its body is read by somebody else. */
  #watch(request: Incoming): void {
    if (this.#watched === request || this.#request !== request) return;
    this.#watched = request;
    this.#readOn(request);
  }

  #readOn(request: Incoming): void {
    const isElsewhere = request.body?.isBeingRead === true;
    const isFull = this.#connection.aheadBytes >= AHEAD_BYTES_MAX;
    if (this.#request !== request || isElsewhere || isFull) {
      if (this.#watched === request) this.#watched = null;
      return;
    }
    const others = turns.forOthers();
    if (others === null) void this.#connection.more();
    else void others.then(() => this.#readOn(request));
  }

  /** A read has ended, while nobody waits for it perhaps. */
  readonly #heard = (isThere: boolean): void => {
    const request = this.#watched;
    if (request !== null && isThere) this.#readOn(request);
    else if (request !== null) this.#goneAway(request);
  };

  #goneAway(request: Incoming): void {
    if (this.#request !== request) return;
    request.leave();
    this.#cancel?.();
    this.close();
  }

  #send(
    request: Incoming,
    answer: Answer,
    { framing, isKept }: { framing: AnswerFraming; isKept: boolean },
  ): Promise<void> {
    const { method, minor } = request;
    const around: Surroundings = { method, minor, isKept, date: this.#answering.date() };
    const head = headOf(answer, framing, around);
    const { body } = answer;
    const isWhole = body === null || typeof body === 'string' || body instanceof Uint8Array;
    if (framing === 'none') {
      if (!isWhole) body.cancel();
      this.#wait('sent');
      return this.#connection.write(latin1Bytes(`${head}\r\n`));
    }
    if (isWhole) return this.#sendWhole(head, body ?? '');
    const length = framing === 'length' ? `content-length: ${body.bytes}\r\n` : '';
    this.#watch(request);
    const isGuarded = answer.isForwarded === true;
    return this.#sendPieces(body, { head: head + length, framing, isGuarded });
  }

  #sendWhole(head: string, body: string | Uint8Array): Promise<void> {
    const connection = this.#connection;
    this.#wait('sent');
    const sent = typeof body === 'string' ? connection.writeAscii(wholeText(head, body)) : null;
    return sent ?? connection.write(wholeBytes(head, body));
  }

  /**
   * The next piece is fetched while one is sent. Whoever forwards looks after a caller that takes
   * nothing for as long as pieces come.
   */
  async #sendPieces(
    body: Pieces,
    { head, framing, isGuarded }: { head: string; framing: AnswerFraming; isGuarded: boolean },
  ): Promise<void> {
    const write = async (bytes: Uint8Array) => {
      if (!isGuarded) this.#wait('sent');
      await this.#connection.write(bytes);
      if (!isGuarded) this.#wait('answer');
    };
    const fetch = () => {
      const next = body.next();
      next.then((piece) => {
        if (piece === null || body.isEnded === true) this.#wait('sent');
      }, () => {});
      return next;
    };
    const cancel = this.#cancel = () => {
      this.#cancel = null;
      body.cancel();
    };
    body.broken = () => {
      if (this.#cancel === cancel) this.close();
    };
    let coming = fetch();
    try {
      await write(latin1Bytes(`${head}\r\n`));
      for (;;) {
        const piece = await coming;
        if (piece === null) break;
        coming = fetch();
        if (piece.length === 0) continue;
        await write(framing === 'chunked' ? chunkOf(piece) : piece);
        largeBuffers.giveBack(piece);
      }
      if (framing === 'chunked') await write(LAST_CHUNK);
    } catch (error) {
      this.#cancel?.();
      throw error;
    } finally {
      this.#cancel = null;
    }
  }

  async #tunnel(answer: Answer, tunnel: (caller: Connection) => Promise<void>): Promise<void> {
    this.#request = null;
    const around = { method: 'GET', minor: 1, isKept: true, date: '' };
    const head = latin1Bytes(headOf(answer, 'none', around));
    // The tunnel has another side to close: its end of this one tells it of a caller that is gone.
    await this.#connection.write(head).catch(() => this.close());
    await tunnel(this.#connection);
    this.close();
  }

  async #refuse(error: MalformedError): Promise<void> {
    const why = error instanceof HeadTooLargeError ? 'head_too_large' : 'malformed';
    const answer = this.#answering.refuse(why, error.message);
    const around = { method: 'GET', minor: 1, isKept: false, date: this.#answering.date() };
    const head = headOf(answer, 'length', around);
    await this.#sendWhole(head, answer.body);
    void this.#linger();
  }

  /**
   * Closes once the caller has read its answer: what it still sends would have the answer thrown
   * away (RFC 9112, 9.6). Nobody waits for this. Never rejects.
   */
  async #linger(): Promise<void> {
    const connection = this.#connection;
    await connection.line.closeWrite().catch(() => this.close());
    const timer = setTimeout(() => this.close(), LINGER_MS);
    do connection.take(connection.aheadBytes); while (await connection.more());
    clearTimeout(timer);
    this.close();
  }
}

function cancel({ body }: Answer): void {
  if (body !== null && typeof body === 'object' && 'cancel' in body) body.cancel();
}
