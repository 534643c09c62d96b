/**
 * One proxied request from its grant to its end: forwards it, streams the answer back, and gives
 * the slot back exactly once, whichever end comes first, with what the upstream's answer teaches
 * and a row in the access log.
 */
import type { Outcome } from '../core/outcome.ts';
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import type { Entry } from '../scheduler/directory.ts';
import type { Granted } from '../scheduler/verdict.ts';
import type { Credential } from '../upstream/credentials.ts';
import type { Call, Limits } from '../upstream/forward/exchange.ts';
import { Exchange } from '../upstream/forward/exchange.ts';
import type { ForwardError } from '../upstream/forward/forward_error.ts';
import { cutError, failureOf } from '../upstream/forward/forward_error.ts';
import type { AnswerHead } from '../upstream/forward/head.ts';
import type { Target } from '../upstream/target.ts';
import { judge } from '../upstream/verdict.ts';
import { addHeaders } from './answer_headers.ts';
import { BodySample } from './body_sample.ts';
import { faultAnswer } from './fault.ts';
import type { UnderWay } from './forwarding.ts';
import { poolHeaders } from './pool_headers.ts';
import type { Server } from './server.ts';

export interface ProxiedParts {
  readonly entry: Entry;
  readonly granted: Granted;
  readonly target: Target;
  readonly credential: Credential | null;
  readonly request: Request;
  /** The path without its query, for the log. */
  readonly path: string;
  readonly address: string | null;
  readonly call: Omit<Call, 'lingers' | 'wasCut'>;
}

/** What goes on after an upgrade. */
export interface Carried {
  readonly quietSinceMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  end(): void;
}

const NULL_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);
/** Pieces of a body that are read ahead, so that reading and writing overlap. */
const PIECES_AHEAD = 2;
const FAILED: Outcome = { kind: 'failed' };
const UNKNOWN: Outcome = { kind: 'unknown' };

export class Proxied implements UnderWay {
  readonly pool: string;
  readonly exchange: Exchange;
  readonly #server: Server;
  readonly #parts: ProxiedParts;
  #head: AnswerHead | null = null;
  #firstByteMs = 0;
  #sample: BodySample | null = null;
  #isReleased = false;
  #carried: Carried | null = null;
  /** Where the rest of a body goes that was begun. */
  #controller: ReadableStreamDefaultController | null = null;

  constructor(server: Server, parts: ProxiedParts) {
    this.#server = server;
    this.#parts = parts;
    this.pool = parts.entry.spec.name;
    const { tellsLate } = server.forwarding;
    const call: Call = {
      ...parts.call,
      ...(tellsLate ? { lingers: () => this.#watchCaller() } : {}),
      wasCut: (cut) => this.#breakOff(cutError(cut)),
    };
    this.exchange = new Exchange(call, {
      connections: server.forwarding.connections,
      guard: server.forwarding.guard,
      nowMs: server.forwarding.nowMs,
    });
    server.forwarding.underWay.set(parts.granted.lease.slotId, this);
    if (!tellsLate) this.#watchCaller();
  }

  get quietSinceMs(): number {
    return (this.#carried ?? this.exchange).quietSinceMs;
  }

  get isUploading(): boolean {
    return this.exchange.isUploading;
  }

  /** The headers that tell of the pool. */
  get ownHeaders(): Record<string, string> {
    const { gauge, queuedMs, lease } = this.#parts.granted;
    return poolHeaders(gauge, queuedMs, lease.attempt);
  }

  get request(): Request {
    return this.#parts.request;
  }

  get limits(): Limits {
    return this.#parts.call.limits;
  }

  /**
   * Sends the request, and answers as the upstream does. Never rejects.
   * @param instead takes an answer over, where it is one to be taken over.
   */
  async answer(instead?: (head: AnswerHead) => Response | null): Promise<Response> {
    try {
      const head = await this.exchange.answer();
      this.#head = head;
      this.#firstByteMs = this.#server.forwarding.nowMs() - this.exchange.startedAtMs;
      return instead?.(head) ?? await this.#passOn(head);
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The answer where there is none of the upstream's. */
  #failed(error: unknown): Response {
    const { code, cut, message } = failureOf(error);
    if (cut === 'gone') this.release(UNKNOWN, 'client_gone');
    else this.release(FAILED, code);
    const headers = { ...this.ownHeaders, 'x-nthpool-error': code };
    return faultAnswer(code, { message, headers });
  }

  /** A relay carries the rest; `end` is asked where the slot is taken back. */
  handOver(carried: Carried): void {
    this.#carried = carried;
  }

  /** What was carried has ended. */
  carriedOut(): void {
    this.release({ kind: 'ok', status: 101, firstByteMs: this.#firstByteMs }, 'granted');
  }

  /** The slot was taken back, or the caller is gone: nothing more is forwarded. */
  end(): void {
    this.exchange.abort('gone');
    this.#carried?.end();
    this.release(UNKNOWN, 'client_gone');
  }

  async #passOn(head: AnswerHead): Promise<Response> {
    const { exchange } = this;
    this.#sample = BodySample.of(head);
    const isNull = NULL_BODY.has(head.status);
    if (!exchange.isWhole && !isNull) return this.#withHeaders(head, this.#stream(head));
    const body = await exchange.next();
    this.#sample?.add(body);
    // What follows a status that has no body is not waited for.
    if (isNull) exchange.abort('gone');
    this.#finish(head);
    const isUnsized = this.request.method === 'HEAD' && !isSized(head);
    return this.#withHeaders(head, isNull ? null : isUnsized ? empty() : body);
  }

  #withHeaders(head: AnswerHead, body: ReadableStream | Uint8Array | null): Response {
    // The runtime gives 205 no length, and a caller would wait for the connection's end.
    const status = head.status === 205 ? 204 : head.status;
    const response = new Response(body as BodyInit | null, { status });
    const { baseDomain } = this.#server;
    addHeaders(response.headers, { headers: head.headers, own: this.ownHeaders, baseDomain });
    return response;
  }

  #stream(head: AnswerHead): ReadableStream<Uint8Array> {
    const { exchange } = this;
    return new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      pull: async (controller) => {
        try {
          const piece = await exchange.next();
          this.#sample?.add(piece);
          if (piece !== null) controller.enqueue(piece);
          if (!exchange.isEnded) return;
          this.#finish(head);
          this.#controller = null;
          controller.close();
        } catch (error) {
          this.#breakOff(failureOf(error));
        }
      },
      cancel: () => {
        this.#controller = null;
        this.end();
      },
    }, { highWaterMark: PIECES_AHEAD });
  }

  #finish(head: AnswerHead): void {
    const { entry, credential, target } = this.#parts;
    const { clock } = this.#server.scheduler;
    const nowMs = clock.nowMs();
    const body = this.#sample?.json();
    const outcome = judge({
      status: head.status,
      headers: head.headers,
      nowMs: nowMs + clock.shiftMs,
      hints: entry.spec.rate.hints,
      ...(body === undefined ? {} : { body }),
    });
    if (credential !== null && head.status > 400) {
      const { retryAfterMs } = outcome;
      target.credentials.observe(credential, { status: head.status, retryAfterMs, nowMs });
    }
    this.release({ ...outcome, firstByteMs: this.#firstByteMs }, 'granted');
  }

  /** The answer has begun and will not end: what was begun is broken off, too. */
  #breakOff({ code, cut }: ForwardError): void {
    if (this.#head === null) return;
    this.release(cut === 'gone' ? UNKNOWN : FAILED, cut === 'gone' ? 'client_gone' : code);
    this.#controller?.error(brokenBody());
    this.#controller = null;
  }

  /** Gives the slot back, and writes the row; only the first call does anything. */
  release(outcome: Outcome, told: 'granted' | 'client_gone' | ErrorCode): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { lease } = this.#parts.granted;
    const { scheduler, forwarding } = this.#server;
    forwarding.underWay.delete(lease.slotId);
    scheduler.release(this.#parts.entry.pool, lease.slotId, outcome);
    this.#log(told);
  }

  #log(told: 'granted' | 'client_gone' | ErrorCode): void {
    const { granted: { lease, queuedMs }, request, path, address, credential } = this.#parts;
    const { scheduler } = this.#server;
    const upstreamStatus = this.#head?.status ?? null;
    const ownStatus = told === 'client_gone' || told === 'granted' ? null : ERRORS[told].status;
    scheduler.log.grant({
      id: lease.attempt,
      at: lease.grantedAtMs + scheduler.clock.shiftMs,
      pool: lease.pool,
      kind: 'proxy',
      outcome: told,
      status: upstreamStatus ?? ownStatus,
      reason: null,
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
        bytesIn: (this.#carried ?? this.exchange).bytesIn,
        bytesOut: (this.#carried ?? this.exchange).bytesOut,
        credential: credential?.name ?? null,
      },
    });
  }

  /** The exchange takes a while: from now on the caller's hang-up is listened for. */
  #watchCaller(): void {
    const { signal } = this.#parts.request;
    const gone = () => {
      if (this.#head === null) this.exchange.abort('gone');
    };
    if (signal.aborted) gone();
    else signal.addEventListener('abort', gone);
  }
}

/** Whether the answer tells its length in a way that the runtime passes on. */
function isSized({ headers }: AnswerHead): boolean {
  return headers.some(([name, value]) =>
    name.toLowerCase() === 'content-length' && /^\d+$/.test(value)
  );
}

/** A body that the runtime gives no length, which would be a false one in an answer to HEAD. */
function empty(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** What breaks a body that was begun: the runtime resets the connection. It prints no stack. */
function brokenBody(): Error {
  const error = new Error('the upstream broke off');
  error.stack = 'proxied body: the upstream broke off';
  return error;
}
