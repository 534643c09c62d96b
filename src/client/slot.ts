/**
 * A held slot: renews itself in the background, and tells by its signal that the work must stop,
 * always before the lease can end. Every instant is counted from before the request was sent, on
 * the monotonic clock, so the server's end of the lease never comes before the holder's.
 */
import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { pause } from './clock.ts';
import type { LossCause } from './failure.ts';
import { BadAnswer, Refused, SlotLost, Unreachable } from './failure.ts';
import type { Report } from './report.ts';
import { merged, reportOf } from './report.ts';
import type { Grant, Transport } from './transport.ts';
import { callBack, warn } from './warning.ts';

const RELEASE_TRIES = 4;
const RELEASE_LIMIT_MS = 5_000;
const FAILED: Report = { status: 500 };

export interface SlotParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly grant: Grant;
  /** The earliest instant at which the server can have granted the lease. */
  readonly earliestMs: number;
  /** How long the acquire had waited before the try that brought the grant. */
  readonly waitedMs: number;
  /** How long before the lease's end the signal fires; told the slot's `termMs`. */
  readonly marginMs: (termMs: number) => number;
  readonly onRenewed?: (() => void) | undefined;
}

export class Slot implements AsyncDisposable {
  readonly slotId: string;
  /** Grows with every grant: whoever stores results can refuse those of an older holder. */
  readonly fence: number;
  /** How long the lease lasts unless renewed: the pool's term, or its whole life if shorter. */
  readonly termMs: number;
  /** How long the acquire waited: in the pool's queue, and between its tries. */
  readonly queuedMs: number;
  readonly #parts: SlotParts;
  readonly #lost = new AbortController();
  readonly #renewEveryMs: number;
  readonly #marginMs: number;
  readonly #requestEndsAtMs: number;
  #endsAtMs: number;
  #isEnded = false;
  #report: Report = {};
  #releasing: Promise<boolean> | null = null;
  #cancelRenewal = () => {};
  #cancelLoss = () => {};

  constructor(parts: SlotParts) {
    const { grant, earliestMs } = parts;
    this.#parts = parts;
    this.slotId = grant.slotId;
    this.fence = grant.fence;
    // The life of a grant that is told late may be over.
    this.termMs = Math.max(0, Math.min(grant.termMs, grant.lifeMs));
    this.queuedMs = Math.round(parts.waitedMs) + grant.queuedMs;
    this.#renewEveryMs = Math.min(grant.renewIntervalMs, grant.termMs / 3);
    // What is no length of time would let the signal fire too late, or never.
    const marginMs = parts.marginMs(this.termMs);
    const half = this.termMs / 2;
    this.#marginMs = marginMs >= 0 ? Math.min(marginMs, half) : half;
    this.#requestEndsAtMs = earliestMs + grant.lifeMs;
    this.#endsAtMs = Math.min(earliestMs + grant.termMs, this.#requestEndsAtMs);
    this.#arm(earliestMs + this.#renewEveryMs);
  }

  /** Aborts, with a {@link SlotLost} as its reason, before the lease can be given to another. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** How long the lease is sure to last, were it not renewed again. */
  get remainingMs(): number {
    return Math.max(0, this.#endsAtMs - this.#parts.clock.nowMs());
  }

  /** Notes an answer of the upstream, or what the caller knows of it, for the release. */
  report(seen: Response | Report): void {
    this.#report = merged(this.#report, isAnswer(seen) ? reportOf(seen) : seen);
  }

  /**
   * Gives the slot back with what was reported. True where it was still held; false where it was
   * gone, or the server did not answer: then the lease ends by itself. Once that is known, further
   * calls are told the same.
   * @throws Refused where the server does not take the report; the slot is given back all the same.
   */
  release(report?: Response | Report): Promise<boolean> {
    if (this.#releasing === null) {
      if (report !== undefined) this.report(report);
      this.#end();
      this.#releasing = this.#release().catch((error) => {
        // Whoever calls again wants the server asked again.
        this.#releasing = null;
        throw error;
      });
    }
    return this.#releasing;
  }

  /**
   * Gives the slot back after work that failed. Where nothing was reported the server hears of a
   * failure, which teaches it nothing; a bare release would count as a success.
   */
  abandon(): Promise<boolean> {
    const { status, throttled } = this.#report;
    return this.release(status === undefined && throttled === undefined ? FAILED : undefined);
  }

  /** After work that is done, whose result a release that is refused must not take away. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error) => warn('the release of a slot was refused', error));
  }

  async #release(): Promise<boolean> {
    try {
      return await this.#send();
    } catch (error) {
      if (!isOfReport(error)) throw error;
      // What cannot be read must neither keep the slot nor teach the server anything.
      this.#report = FAILED;
      await this.#send();
      throw error;
    }
  }

  async #send(): Promise<boolean> {
    const { transport, clock, random } = this.#parts;
    const isBare = Object.keys(this.#report).length === 0;
    const call = {
      path: `${this.slotId}/release`,
      limitMs: RELEASE_LIMIT_MS,
      ...(isBare ? {} : { body: this.#report }),
    };
    for (let tries = 1;; tries++) {
      try {
        const { body } = await transport.post(call);
        return body['released'] === true;
      } catch (error) {
        const mayHelp = error instanceof Unreachable || isServerTrouble(error);
        if (!mayHelp && !(error instanceof BadAnswer)) throw error;
        const isOver = tries >= RELEASE_TRIES || clock.nowMs() >= this.#endsAtMs;
        if (!mayHelp || isOver) return false;
        await pause(clock, backoffMs(tries, undefined, random()));
      }
    }
  }

  /** Sets both timers: when to renew, and when the signal must fire. */
  #arm(renewAtMs: number): void {
    const { clock } = this.#parts;
    this.#cancelTimers();
    const lossAtMs = this.#endsAtMs - this.#marginMs;
    const nowMs = clock.nowMs();
    if (nowMs >= lossAtMs) return this.#lose(this.#isCapped ? 'request_deadline' : 'unrenewed');
    this.#cancelLoss = clock.after(lossAtMs - nowMs, () => this.#arm(renewAtMs), true);
    if (this.#isCapped || renewAtMs >= lossAtMs) return;
    this.#cancelRenewal = clock.after(renewAtMs - nowMs, () => void this.#renew(1), true);
  }

  /** Whether no renewal can move the lease's end any more. */
  get #isCapped(): boolean {
    return this.#endsAtMs >= this.#requestEndsAtMs;
  }

  async #renew(tries: number): Promise<void> {
    const { transport, clock, random } = this.#parts;
    const sentAtMs = clock.nowMs();
    const limitMs = Math.max(1, this.#endsAtMs - this.#marginMs - sentAtMs);
    try {
      await transport.post({
        path: `${this.slotId}/renew`,
        limitMs: Math.min(limitMs, this.termMs / 3),
        signal: this.signal,
      });
    } catch (error) {
      if (this.#isEnded) return;
      if (error instanceof Refused && error.code === 'not_found') return this.#lose('gone');
      // The lease ends at its request deadline already: the timer of the loss says when.
      if (error instanceof Refused && error.code === 'capped') return;
      const hintMs = error instanceof Refused ? error.retryAfterMs : undefined;
      const againMs = Math.min(backoffMs(tries, hintMs, random()), this.#renewEveryMs);
      this.#cancelRenewal = clock.after(againMs, () => void this.#renew(tries + 1), true);
      return;
    }
    if (this.#isEnded) return;
    const endsAtMs = Math.min(sentAtMs + this.termMs, this.#requestEndsAtMs);
    this.#endsAtMs = Math.max(this.#endsAtMs, endsAtMs);
    this.#arm(sentAtMs + this.#renewEveryMs);
    const { onRenewed } = this.#parts;
    if (onRenewed !== undefined) callBack('onRenewed', onRenewed);
  }

  #lose(cause: LossCause): void {
    if (this.#isEnded) return;
    this.#end();
    this.#lost.abort(new SlotLost(cause));
  }

  #end(): void {
    this.#isEnded = true;
    this.#cancelTimers();
  }

  #cancelTimers(): void {
    this.#cancelRenewal();
    this.#cancelLoss();
    this.#cancelRenewal = () => {};
    this.#cancelLoss = () => {};
  }
}

function isAnswer(seen: Response | Report): seen is Response {
  return typeof (seen.headers as { get?: unknown } | undefined)?.get === 'function';
}

function isOfReport(error: unknown): boolean {
  return error instanceof Refused &&
    (error.code === 'invalid_request' || error.code === 'payload_too_large');
}

function isServerTrouble(error: unknown): boolean {
  return error instanceof Refused && error.status >= 500;
}
