/**
 * One caller's connection: reads requests one after another, has each answered, and sends the
 * answer. While an answer is made or sent the connection is read on, so that a caller that goes
 * away is noticed at once; what it sends behind its request waits its turn.
 */
import { type Answer, isWhole } from './answer.ts';
import { framingOfAnswer, headOf } from './answer_bytes.ts';
import { Connection } from './connection.ts';
import { HEAD_BYTES_MAX, HeadTooLargeError, type MalformedError } from './head.ts';
import { Incoming } from './incoming.ts';
import type { IncomingBody } from './incoming_body.ts';
import type { Line } from './line.ts';
import { Requests } from './requests.ts';
import { Sending } from './sending.ts';
import { turns } from './turns.ts';

/** What callers are answered with. */
export interface Answering<Peer> {
  readonly answer: (request: Incoming, peer: Peer) => Answer | Promise<Answer>;
  /** The answer where that failed. */
  readonly failed: (error: unknown) => Answer;
  /** The answer to what is no request. */
  readonly refuse: (why: 'malformed' | 'head_too_large', message: string) => TextAnswer;
  /** The current `Date` line. */
  readonly date: () => string;
}

export interface TextAnswer extends Answer {
  readonly body: string;
}

/**
 * What is waited for: a request's first byte, the rest of its head (or of a body that nobody
 * wants), the answer, or that the caller takes an answer that is there as a whole.
 */
export type Waiting = 'idle' | 'head' | 'answer' | 'sent';

/** Read ahead of a caller whose answer is being made; of a body that nobody reads yet more. */
const AHEAD_BYTES_MAX = 64 * 1024;
/** How long a caller may go on sending what nobody reads, so that it can read its answer. */
const LINGER_MS = 2_000;

export class Caller<Peer> {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #sending: Sending;
  readonly #peer: Peer;
  readonly #answering: Answering<Peer>;
  #waiting: Waiting = 'head';
  #isLast = false;
  /** Whether the connection ends with the answer that is being sent. */
  #isEnding = false;
  /** The request that is being answered, and the one whose caller is watched. */
  #request: Incoming | null = null;
  #watched: Incoming | null = null;
  /** Sweeps of {@link Serving} that it has waited so. */
  sweeps = 0;

  constructor(line: Line, peer: Peer, answering: Answering<Peer>) {
    this.#connection = new Connection(line);
    this.#connection.heard = this.#heard;
    this.#requests = new Requests(this.#connection);
    this.#sending = new Sending(this.#connection, {
      date: answering.date,
      wait: (what) => this.#wait(what),
    });
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

  /** Answers what is under way, and nothing after it. A head that came in part is no request. */
  finish(): void {
    this.answerOnce();
    if (!this.isAsked) this.close();
  }

  /** Whether a request is there whose answer it has not got yet. */
  get isAsked(): boolean {
    if (this.#waiting === 'answer' || this.#waiting === 'sent') return true;
    return this.#connection.textAhead(HEAD_BYTES_MAX).includes('\r\n\r\n');
  }

  close(): void {
    this.#request?.body?.drop();
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
        this.#isEnding = !isKept;
        if (framing !== 'none' && !isWhole(answer.body)) this.#watch(next);
        await this.#sending.send(answer, next, { framing, isKept });
        this.#request = null;
        next.body?.drop();
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
    await body.skip();
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
    const { body } = request;
    if (this.#request !== request || body?.isBeingRead === true || !this.#mayReadOn(body)) {
      if (this.#watched === request) this.#watched = null;
      return;
    }
    const others = turns.forOthers();
    if (others === null) void this.#connection.more();
    else void others.then(() => this.#readOn(request));
  }

  #mayReadOn(body: IncomingBody | null): boolean {
    const connection = this.#connection;
    if (connection.aheadBytes < AHEAD_BYTES_MAX) return true;
    if (!this.#isEnding) return body?.hold() === true;
    // Nobody wants it, but the caller may take its answer only when it has sent all.
    connection.take(connection.aheadBytes);
    return true;
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
    this.#sending.cancel();
    this.close();
  }

  /** The tunnel watches the connection, and has another side to close, from the head on. */
  async #tunnel(answer: Answer, tunnel: NonNullable<Answer['tunnel']>): Promise<void> {
    this.#request = null;
    const around = { method: 'GET', minor: 1, isKept: true, date: '' };
    await tunnel(this.#connection, headOf(answer, 'none', around));
    this.close();
  }

  async #refuse(error: MalformedError): Promise<void> {
    const why = error instanceof HeadTooLargeError ? 'head_too_large' : 'malformed';
    const answer = this.#answering.refuse(why, error.message);
    const around = { method: 'GET', minor: 1, isKept: false, date: this.#answering.date() };
    const head = headOf(answer, 'length', around);
    await this.#sending.sendWhole(head, answer.body);
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
  if (!isWhole(body)) body.cancel();
}
