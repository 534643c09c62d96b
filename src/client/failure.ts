/**
 * What can go wrong for a caller, one class each, every one with a code that does not change. A
 * refusal carries the server's own code; the other codes are the client's.
 */
import type { ErrorCode } from '../errors.ts';

/** Codes of failures that no answer of the server tells. */
export type ClientCode = 'unreachable' | 'bad_answer' | 'slot_lost';

export abstract class NthbouncerError extends Error {
  abstract readonly code: ErrorCode | ClientCode;
}

/** What a refusal tells beyond its code. */
export interface RefusalParts {
  readonly status: number;
  readonly message: string;
  /** With `too_many_requests`: `full`, `queue_full`, `rate` or `paused`. */
  readonly reason?: string;
  /** When to try again; absent where the server does not say. */
  readonly retryAfterMs?: number;
  /** Who waits in the pool's queue; absent where the server does not say. */
  readonly queueDepth?: number;
  /** Where an acquire that waits already stands in the queue, from 1. */
  readonly place?: number;
}

/** The server said no. */
export class Refused extends NthbouncerError {
  override name = 'Refused';
  readonly code: ErrorCode;
  readonly status: number;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly queueDepth: number | undefined;
  readonly place: number | undefined;

  constructor(code: ErrorCode, parts: RefusalParts) {
    super(parts.message);
    this.code = code;
    this.status = parts.status;
    this.reason = parts.reason;
    this.retryAfterMs = parts.retryAfterMs;
    this.queueDepth = parts.queueDepth;
    this.place = parts.place;
  }
}

/** No answer came: the server is down, restarts, or the way to it is broken. */
export class Unreachable extends NthbouncerError {
  override name = 'Unreachable';
  readonly code = 'unreachable';
}

/** What answered does not speak as this server does. */
export class BadAnswer extends NthbouncerError {
  override name = 'BadAnswer';
  readonly code = 'bad_answer';
}

/**
 * `gone`: the server took the slot back. `unrenewed`: no renewal came through in time.
 * `request_deadline`: the lease reached the longest life that the pool allows. `late`: the grant
 * came when its lease was over, or so near to it that no work could begin.
 */
export type LossCause = 'gone' | 'unrenewed' | 'request_deadline' | 'late';

/** The reason of a slot's signal: the work must stop. Of an acquire: it came too late to begin. */
export class SlotLost extends NthbouncerError {
  override name = 'SlotLost';
  readonly code = 'slot_lost';
  override readonly cause: LossCause;

  constructor(cause: LossCause) {
    super(SENTENCES[cause]);
    this.cause = cause;
  }
}

const SENTENCES: Readonly<Record<LossCause, string>> = {
  gone: 'The server took the slot back.',
  unrenewed: 'The lease could not be renewed in time.',
  request_deadline: 'The lease reached its request deadline.',
  late: 'The grant came too late: no time of its lease was left to work in.',
};
