/**
 * One proxied request from its grant to its end: forwards it, streams the answer back, and gives
 * the slot back exactly once, whichever end comes first, with what the upstream's answer teaches
 * and a row in the access log.
 */
import type { Outcome } from '../core/outcome.ts';
import type { LoggedOutcome } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import type { Answer, AnswerBody, Pieces } from '../http1/answer.ts';
import type { Incoming } from '../http1/incoming.ts';
import type { Entry } from '../scheduler/directory.ts';
import type { Granted } from '../scheduler/verdict.ts';
import type { Credential } from '../upstream/credentials.ts';
import type { Call, Limits } from '../upstream/forward/exchange.ts';
import { Exchange } from '../upstream/forward/exchange.ts';
import type { Cut, ForwardError } from '../upstream/forward/forward_error.ts';
import { cutError, failureOf } from '../upstream/forward/forward_error.ts';
import type { AnswerHead } from '../upstream/forward/answer_head.ts';
import type { Tunnel } from '../upstream/forward/tunnel.ts';
import type { Target } from '../upstream/target.ts';
import { judge } from '../upstream/verdict.ts';
import { answerHeaders } from './answer_headers.ts';
import { BodySample } from './body_sample.ts';
import { CarriedSecrets } from './carried_secrets.ts';
import { faultAnswer } from './fault.ts';
import type { UnderWay } from './forwarding.ts';
import { OF_REFUSAL } from './own_headers.ts';
import { poolLines } from './pool_headers.ts';
import type { Server } from './server.ts';

export interface ProxiedParts {
  readonly entry: Entry;
  readonly granted: Granted;
  readonly target: Target;
  readonly credential: Credential | null;
  readonly request: Incoming;
  /** The path without its query, for the log. */
  readonly path: string;
  readonly address: string | null;
  readonly call: Omit<Call, 'wasCut'>;
}

const FAILED: Outcome = { kind: 'failed' };
const UNKNOWN: Outcome = { kind: 'unknown' };
const NO_SECRETS = new CarriedSecrets([]);

export class Proxied implements UnderWay {
  readonly pool: string;
  readonly slotId: string;
  place = -1;
  readonly exchange: Exchange;
  readonly #server: Server;
  readonly #parts: ProxiedParts;
  /** Of the upstream's answer, once that is what the caller gets. */
  #head: AnswerHead | null = null;
  #firstByteMs = 0;
  #sample: BodySample | null = null;
  #isReleased = false;
  /** What goes on after an upgrade. */
  #tunnel: Tunnel | null = null;
  /** The body that is being passed on. */
  #pieces: Pieces | null = null;

  constructor(server: Server, parts: ProxiedParts) {
    this.#server = server;
    this.#parts = parts;
    this.pool = parts.entry.spec.name;
    this.slotId = parts.granted.lease.slotId;
    const call: Call = { ...parts.call, wasCut: (cut) => this.#breakOff(cutError(cut)) };
    this.exchange = new Exchange(call, {
      connections: server.forwarding.connections,
      guard: server.forwarding.guard,
      nowMs: server.forwarding.nowMs,
    });
    server.forwarding.underWay.add(this);
    parts.request.whenGone(() => {
      if (this.#head === null) this.exchange.abort('gone');
    });
  }

  get quietSinceMs(): number {
    return (this.#tunnel ?? this.exchange).quietSinceMs;
  }

  /** The headers that tell of the pool. */
  get #ownLines(): string {
    const { gauge, queuedMs, lease } = this.#parts.granted;
    return poolLines(gauge, { attempt: lease.attempt, queuedMs });
  }

  get limits(): Limits {
    return this.#parts.call.limits;
  }

  /**
   * Sends the request, and answers as the upstream does. Never rejects.
   * @param instead takes an answer over, where it is one to be taken over; throws where it is none
   * that may be passed on.
   */
  async answer(instead?: (head: AnswerHead) => Answer | null): Promise<Answer> {
    try {
      const head = await this.exchange.answer();
      const taken = instead?.(head);
      this.#head = head;
      this.#firstByteMs = this.#server.forwarding.nowMs() - this.exchange.startedAtMs;
      return taken ?? this.#passOn(head);
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The answer where there is none of the upstream's. */
  #failed(error: unknown): Answer {
    const failure = failureOf(error);
    const { code, message } = failure;
    this.release(...endBy(failure));
    const headers = { [OF_REFUSAL.error.name]: code };
    return faultAnswer(code, { message, headers, lines: this.#ownLines });
  }

  /** The upstream has switched protocols: the rest goes through the tunnel. */
  goesOnIn(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
  }

  /** The tunnel has ended. */
  tunnelEnded(): void {
    const cut = this.#tunnel?.cut ?? null;
    if (cut !== null) return this.release(...endBy(cutError(cut)));
    this.release({ kind: 'ok', status: 101, firstByteMs: this.#firstByteMs }, 'granted');
  }

  /** The slot was taken back. */
  end(): void {
    this.#endFor('taken_back');
  }

  /** Nothing more is forwarded. */
  #endFor(cut: Cut): void {
    this.exchange.abort(cut);
    this.#tunnel?.end();
    this.release(...endBy(cutError(cut)));
  }

  #passOn(head: AnswerHead): Answer {
    const { exchange } = this;
    this.#sample = BodySample.of(head);
    if (!exchange.isWhole) {
      // The end of the body, which may tell more, may never come.
      if (head.status > 400) this.#heed(this.#judge(head));
      return this.withHeaders(head, this.#piecesOf(head));
    }
    const body = exchange.takeWhole();
    this.#sample?.add(body);
    this.#finish(head);
    return this.withHeaders(head, body);
  }

  /** The upstream's answer, with the headers that the caller gets. */
  withHeaders(head: AnswerHead, body: AnswerBody): Answer {
    const { status, reason } = head;
    const { baseDomain } = this.#server;
    const isLengthKept = status === 304 ||
      this.#parts.request.method === 'HEAD' && status !== 204;
    const { credential } = this.#parts;
    const headers = answerHeaders({
      headers: head.headers,
      own: this.#ownLines,
      baseDomain,
      secrets: credential === null ? NO_SECRETS : new CarriedSecrets([credential.value]),
      isLengthKept,
    });
    return { status, reason, headers, body, isForwarded: true };
  }

  #piecesOf(head: AnswerHead): Pieces {
    const { exchange } = this;
    const pieces: Pieces = {
      bytes: exchange.bodyBytes,
      isEnded: () => exchange.isEnded,
      next: async () => {
        try {
          const piece = await exchange.next();
          this.#sample?.add(piece);
          if (exchange.isEnded) this.#finish(head);
          return piece;
        } catch (error) {
          this.#breakOff(failureOf(error));
          throw error;
        }
      },
      cancel: () => this.#endFor('gone'),
    };
    return this.#pieces = pieces;
  }

  #finish(head: AnswerHead): void {
    if (this.#isReleased) return;
    const learned = this.#heed(this.#judge(head, this.#sample?.json()));
    this.release({ ...learned, firstByteMs: this.#firstByteMs }, 'granted');
  }

  #judge({ status, headers }: AnswerHead, body?: unknown): Outcome {
    const { clock } = this.#server.scheduler;
    const { hints } = this.#parts.entry.spec.rate;
    const nowMs = clock.nowMs() + clock.shiftMs;
    return judge({ status, headers, nowMs, hints, ...(body === undefined ? {} : { body }) });
  }

  /** An answer may put the credential aside that the request carried; the rest is the pool's. */
  #heed(outcome: Outcome): Outcome {
    const { credential, target: { credentials } } = this.#parts;
    if (credential === null) return outcome;
    return credentials.observe(credential, outcome, this.#server.scheduler.clock.nowMs());
  }

  /** The answer has begun and will not end: what was begun is broken off, too. */
  #breakOff(failure: ForwardError): void {
    if (this.#head === null) return;
    this.release(...endBy(failure));
    this.#pieces?.broken?.();
  }

  /** Gives the slot back, and writes the row; only the first call does anything. */
  release(outcome: Outcome, told: LoggedOutcome, reason: string | null = null): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { lease } = this.#parts.granted;
    const { scheduler, forwarding } = this.#server;
    forwarding.underWay.remove(this);
    scheduler.release(this.#parts.entry.pool, lease.slotId, outcome);
    this.#log(told, reason);
  }

  #log(told: LoggedOutcome, reason: string | null): void {
    const { granted: { lease, queuedMs }, request, path, address, credential } = this.#parts;
    const { scheduler } = this.#server;
    const upstreamStatus = this.#head?.status ?? null;
    const ownStatus = told === 'client_gone' || told === 'granted' ? null : ERRORS[told].status;
    scheduler.log.noteGrant({
      id: lease.attempt,
      at: lease.grantedAtMs + scheduler.clock.shiftMs,
      pool: lease.pool,
      kind: 'proxy',
      outcome: told,
      status: upstreamStatus ?? ownStatus,
      reason,
      queuedMs,
      slots: lease.slots,
      keyId: lease.keyId,
      address,
      holder: null,
      proxied: {
        method: request.method,
        path,
        upstreamStatus,
        durationMs: Math.round(scheduler.clock.nowMs() - lease.grantedAtMs),
        bytesIn: (this.#tunnel ?? this.exchange).bytesIn,
        bytesOut: (this.#tunnel ?? this.exchange).bytesOut,
        credential: credential?.name ?? null,
      },
    });
  }
}

/** What an end before the answer's teaches, and what the log tells of it. */
function endBy({ code, cut, reason }: ForwardError): [Outcome, LoggedOutcome, string | null] {
  if (cut === 'gone') return [UNKNOWN, 'client_gone', null];
  if (cut === 'taken_back') return [UNKNOWN, code, cut];
  return [cut === 'malformed' ? UNKNOWN : FAILED, code, reason];
}
