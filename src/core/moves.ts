/**
 * The moves that a pool can make, each of which keeps its leases, its queue and the due heap in
 * step and tells the host: grant, join, leave, end, and the admit loop that follows every change.
 * The bouncer decides which move an event means.
 */
import type { Cause, Refusal } from './admission.ts';
import type { Ask, Gauge } from './ask.ts';
import { hopeless } from './admission.ts';
import { assert } from './assert.ts';
import { Due } from './due.ts';
import type { Door, Lease } from './lease.ts';
import type { Outcome } from './outcome.ts';
import type { Pool } from './pool.ts';
import type { Waiter } from './queue.ts';
import type { Sequence } from './sequence.ts';
import { slotsMax } from './settings.ts';

/**
 * Waiters that may be judged each ms, on the average: so much of the time, and no more, goes into
 * it where a queue is long and much happens.
 */
const JUDGED_PER_MS = 200;

/** How a wait ended. */
export type Settlement =
  | { readonly kind: 'granted'; readonly lease: Lease; readonly gauge: Gauge }
  | Refusal;

/** What the host hears of while the core takes a step; it must not call back into the core. */
export interface Effects {
  /** A lease began or ended: its stored row is out of date. */
  changed(lease: Lease): void;
  /** A waiter is one no longer. */
  settled(waiter: Waiter, settlement: Settlement): void;
  /** A lease ran out without a release. */
  lapsed(lease: Lease): void;
}

export interface MovesOptions {
  readonly effects: Effects;
  readonly fences: Sequence;
  /** A fresh unguessable slot id. */
  readonly mint: () => string;
}

export class Moves {
  readonly due = new Due<Lease | Waiter | Pool>();
  readonly #options: MovesOptions;
  #waiting = 0;
  /** From a queue nobody is admitted through a door that is frozen; all else goes on. */
  readonly frozen = new Set<Door>();

  constructor(options: MovesOptions) {
    this.#options = options;
  }

  /** Waiters of all pools. */
  get waiting(): number {
    return this.#waiting;
  }

  grant(nowMs: number, pool: Pool, ask: Ask): Lease {
    const { termMs, requestTimeoutMs } = pool.settings.lease;
    const isLock = ask.door === 'lock';
    const requestDeadlineMs = isLock ? nowMs + requestTimeoutMs : Infinity;
    const fence = this.#options.fences.next(nowMs);
    const inFlight = pool.inUse + ask.slots;
    const lease: Lease = {
      kind: 'lease',
      slotId: this.#options.mint(),
      pool: pool.name,
      door: ask.door,
      slots: ask.slots,
      fence,
      attempt: ask.attempt,
      keyId: ask.keyId,
      holder: ask.holder,
      repeatKey: ask.repeatKey,
      grantedAtMs: nowMs,
      termMs,
      requestDeadlineMs,
      start: { sequence: fence, inFlight, atMs: nowMs, tokens: ask.tokens },
      renewals: 0,
      isLive: false,
      dueAtMs: Infinity,
      place: -1,
      isStored: false,
    };
    pool.move(lease, 'held');
    pool.noteInUse(inFlight);
    pool.governor.started(nowMs, lease.start);
    if (isLock) this.due.set(lease, Math.min(nowMs + termMs, requestDeadlineMs));
    const isWithin = pool.inUse <= pool.governor.limit || pool.leases.size === 1;
    assert(isWithin, 'no grant passes the limit');
    this.#options.effects.changed(lease);
    return lease;
  }

  join(nowMs: number, pool: Pool, { ask, waitMs }: { ask: Ask; waitMs: number }): Waiter {
    const waiter: Waiter = {
      kind: 'waiter',
      pool: pool.name,
      ask,
      joinedAtMs: nowMs,
      dueAtMs: Infinity,
      place: -1,
      before: null,
      after: null,
      isQueued: false,
    };
    pool.queue.join(waiter);
    this.#waiting++;
    this.due.set(waiter, nowMs + waitMs);
    if (this.#headOf(pool) === waiter) this.#arm(pool, nowMs);
    return waiter;
  }

  leave(pool: Pool, waiter: Waiter): void {
    pool.queue.leave(waiter);
    this.#waiting--;
    this.due.remove(waiter);
  }

  /** Refuses a waiter, and tells of the queue without it. */
  refuse(nowMs: number, pool: Pool, { waiter, cause }: { waiter: Waiter; cause: Cause }): void {
    this.leave(pool, waiter);
    this.#options.effects.settled(waiter, { ...cause, gauge: pool.gauge(nowMs) });
  }

  /** The end of a waiter's budget. */
  timeOut(nowMs: number, pool: Pool, waiter: Waiter): void {
    this.refuse(nowMs, pool, { waiter, cause: { kind: 'timed_out' } });
    this.admit(pool, nowMs);
  }

  end(pool: Pool, lease: Lease): void {
    pool.move(lease, 'ended');
    this.due.remove(lease);
    this.#options.effects.changed(lease);
  }

  endAndAdmit(nowMs: number, pool: Pool, end: { lease: Lease; outcome: Outcome }): void {
    this.end(pool, end.lease);
    pool.pace.note(nowMs - end.lease.grantedAtMs);
    pool.governor.ended(nowMs, end.lease.start, end.outcome);
    this.admit(pool, nowMs);
  }

  /**
   * Serves the queue from its head until a gate or the limit stops it, and refuses whom the gates
   * cannot let in any more: to be called after every change.
   */
  admit(pool: Pool, nowMs: number): void {
    // Behind a head that is refused the next may go at once.
    do this.#serve(pool, nowMs); while (this.#refuseHopeless(pool, nowMs));
    this.#arm(pool, nowMs);
  }

  #serve(pool: Pool, nowMs: number): void {
    for (let head = this.#headOf(pool); head !== null; head = this.#headOf(pool)) {
      if (pool.opening(nowMs, head.ask.tokens, 0).kind === 'shut') break;
      if (!pool.fits(head.ask.slots)) break;
      this.leave(pool, head);
      const lease = this.grant(nowMs, pool, head.ask);
      this.#options.effects.settled(head, { kind: 'granted', lease, gauge: pool.gauge(nowMs) });
    }
  }

  /** Who is next: whoever waits at a frozen door keeps his place, and holds up nobody else. */
  #headOf(pool: Pool): Waiter | null {
    if (this.frozen.size === 0) return pool.queue.head;
    for (const waiter of pool.queue) if (!this.frozen.has(waiter.ask.door)) return waiter;
    return null;
  }

  /** How many of the pool's queue go before a newcomer. */
  aheadIn(pool: Pool): number {
    if (this.frozen.size === 0) return pool.queue.length;
    let ahead = 0;
    for (const waiter of pool.queue) if (!this.frozen.has(waiter.ask.door)) ahead++;
    return ahead;
  }

  /** Sets the instant at which time alone may let the pool's head in, or move its governor. */
  #arm(pool: Pool, nowMs: number): void {
    let dueAtMs = Math.min(later(pool.governor.dueAtMs, nowMs), pool.judgesAtMs);
    // A pause that is over is still there until it is resumed, and must hide nothing.
    if (pool.pause !== null) dueAtMs = Math.min(dueAtMs, later(pool.pause.untilMs, nowMs));
    const head = this.#headOf(pool);
    if (head !== null) {
      const opening = pool.opening(nowMs, head.ask.tokens, 0);
      if (opening.kind === 'shut') dueAtMs = Math.min(dueAtMs, later(opening.atMs, nowMs));
    }
    this.due.set(pool, dueAtMs);
  }

  /** Refuses waiters that no longer fit a lowered limit. */
  refuseTooWide(nowMs: number, pool: Pool): void {
    const widest = slotsMax(pool.settings.concurrency);
    for (const waiter of pool.queue) {
      if (waiter.ask.slots <= widest) continue;
      this.refuse(nowMs, pool, { waiter, cause: { kind: 'too_wide', slotsMax: widest } });
    }
  }

  /**
   * Refuses whom the gates cannot let in within their budget; says whether the head was one. Over
   * a long queue it may be put off a little.
   */
  #refuseHopeless(pool: Pool, nowMs: number): boolean {
    const { queue } = pool;
    const head = this.#headOf(pool);
    const { length } = queue;
    pool.judgesAtMs = Infinity;
    if (head === null || pool.opening(nowMs, Infinity, length - 1).kind === 'open') return false;
    const judgesAtMs = pool.judgedAtMs + Math.floor(length / JUDGED_PER_MS);
    if (nowMs < judgesAtMs) {
      pool.judgesAtMs = judgesAtMs;
      return false;
    }
    pool.judgedAtMs = nowMs;
    let ahead = 0;
    for (const waiter of queue) {
      const { ask: { tokens, door }, dueAtMs: untilMs } = waiter;
      // When a frozen door opens again is not known, so neither is who of it comes too late.
      if (this.frozen.has(door)) continue;
      const opening = pool.opening(nowMs, tokens, ahead);
      const turned = hopeless(pool, opening, { nowMs, tokens, ahead, untilMs });
      if (turned === null) ahead++;
      else this.refuse(nowMs, pool, { waiter, cause: { kind: 'refused', ...turned } });
    }
    return this.#headOf(pool) !== head;
  }
}

/** The instant, where it is still to come. */
function later(atMs: number, nowMs: number): number {
  return atMs > nowMs ? atMs : Infinity;
}
