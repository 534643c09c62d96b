/**
 * All pools of one server as a state machine: each call is one event at one instant, and after
 * every change the admit loop runs until it admits nothing. Pure: instants come in, fresh slot ids
 * and fences come from what it was made with, and what happened goes out through `Effects`.
 */
import type { Admission } from './admission.ts';
import type { Ask } from './ask.ts';
import { decide } from './admission.ts';
import { assert } from './assert.ts';
import { CEILINGS } from '../ceilings.ts';
import { makeGovernor } from './governor/governors.ts';
import type { Saved } from './governor/governor.ts';
import type { Door, Lease } from './lease.ts';
import { renewedDeadlineMs } from './lease.ts';
import type { Effects, MovesOptions } from './moves.ts';
import { Moves } from './moves.ts';
import type { Outcome } from './outcome.ts';
import type { Pause } from './pool.ts';
import { Pool } from './pool.ts';
import type { Waiter } from './queue.ts';
import type { PoolSettings } from './settings.ts';

export type Renewal =
  | { readonly kind: 'renewed'; readonly lease: Lease }
  | { readonly kind: 'capped' }
  | { readonly kind: 'gone' };

const LAPSED: Outcome = { kind: 'lapsed' };

/** What a pool begins with; the last two are from an earlier process. */
interface Origin {
  readonly settings: PoolSettings;
  readonly saved?: Saved;
  readonly pause?: Pause | null;
}

export class Bouncer {
  readonly #pools = new Map<string, Pool>();
  readonly #moves: Moves;
  readonly #effects: Effects;
  readonly #random: () => number;

  /** @param options.random for the jitter of governors, 0 to 1. */
  constructor(options: MovesOptions & { readonly random: () => number }) {
    this.#moves = new Moves(options);
    this.#effects = options.effects;
    this.#random = options.random;
  }

  get pools(): ReadonlyMap<string, Pool> {
    return this.#pools;
  }

  /** The earliest instant at which {@link advance} has something to do. */
  get dueAtMs(): number {
    return this.#moves.due.nextAtMs;
  }

  /** Makes the pool, paused as it was; its governor goes on from what an earlier one saved. */
  create(nowMs: number, name: string, how: Origin): Pool {
    assert(!this.#pools.has(name), 'a pool is made once');
    const { settings, saved, pause = null } = how;
    const governor = makeGovernor(settings, {
      nowMs,
      random: this.#random,
      ...(saved === undefined ? {} : { saved }),
    });
    const pool = new Pool(name, settings, governor);
    pool.pause = pause;
    this.#pools.set(name, pool);
    return pool;
  }

  /** Gives the pool new settings at once; nothing is revoked. */
  configure(nowMs: number, pool: Pool, settings: PoolSettings): void {
    pool.settings = settings;
    pool.governor.configure(nowMs, settings);
    this.#moves.refuseTooWide(nowMs, pool);
    this.#moves.admit(pool, nowMs);
  }

  /** Has the pool's governor forget what it learned. */
  forget(nowMs: number, pool: Pool): void {
    pool.governor.forget(nowMs);
    this.#moves.admit(pool, nowMs);
  }

  /** Refuses the pool's waiters, ends its leases, and forgets it. */
  remove(nowMs: number, name: string): void {
    const pool = this.#pools.get(name);
    if (pool === undefined) return;
    for (const waiter of pool.queue) {
      this.#moves.refuse(nowMs, pool, { waiter, cause: { kind: 'pool_gone' } });
    }
    for (const lease of [...pool.leases.values()]) this.#moves.end(pool, lease);
    this.#moves.due.remove(pool);
    this.#pools.delete(name);
  }

  /** Puts a stored lease back as it was, whatever the limit says now. */
  restore(lease: Lease): void {
    const pool = this.#pools.get(lease.pool);
    assert(pool !== undefined, 'a restored lease has a pool');
    pool.move(lease, 'held');
    this.#moves.due.set(lease, lease.dueAtMs);
  }

  acquire(nowMs: number, pool: Pool, ask: Ask): Admission {
    const waitMs = Math.min(ask.waitMs, pool.settings.queue.timeoutMs);
    const ahead = this.#moves.aheadIn(pool);
    const decision = decide(pool, ask, { nowMs, waitMs, ahead });
    switch (decision.kind) {
      case 'grant': {
        const lease = this.#moves.grant(nowMs, pool, ask);
        return { kind: 'granted', lease, gauge: pool.gauge(nowMs) };
      }
      case 'wait':
        if (this.#moves.waiting >= CEILINGS.waiters) {
          const retryAfterMs = pool.freeInMs(pool.queue.length);
          return { kind: 'refused', reason: 'queue_full', retryAfterMs, gauge: pool.gauge(nowMs) };
        }
        return { kind: 'queued', waiter: this.#moves.join(nowMs, pool, { ask, waitMs }) };
      case 'too_wide':
        return { ...decision, gauge: pool.gauge(nowMs) };
      case 'refuse':
        return { ...decision, kind: 'refused', gauge: pool.gauge(nowMs) };
    }
  }

  renew(nowMs: number, pool: Pool, slotId: string): Renewal {
    const lease = pool.leases.get(slotId);
    if (lease === undefined) return { kind: 'gone' };
    if (lease.dueAtMs >= lease.requestDeadlineMs) return { kind: 'capped' };
    this.#moves.due.set(lease, renewedDeadlineMs(lease, nowMs));
    lease.renewals++;
    return { kind: 'renewed', lease };
  }

  /** Ends a lease by its id; false where it was already gone. */
  release(nowMs: number, pool: Pool, end: { slotId: string; outcome: Outcome }): boolean {
    const lease = pool.leases.get(end.slotId);
    if (lease === undefined) return false;
    this.#moves.endAndAdmit(nowMs, pool, { lease, outcome: end.outcome });
    return true;
  }

  /** Takes a waiter out of its queue: its caller is gone. The next one may fit where it did not. */
  withdraw(nowMs: number, waiter: Waiter): void {
    if (!waiter.isQueued) return;
    const pool = this.#poolOf(waiter);
    this.#moves.leave(pool, waiter);
    this.#moves.admit(pool, nowMs);
  }

  /** An operator's pause (null: resumed). Waiters keep their place unless it outlasts them. */
  setPause(nowMs: number, pool: Pool, pause: Pause | null): void {
    pool.setPause(nowMs, pause);
    this.#moves.admit(pool, nowMs);
  }

  /** Admits nobody through these doors until all are thawed. All else goes on. */
  freeze(doors: readonly Door[]): void {
    for (const door of doors) this.#moves.frozen.add(door);
  }

  thaw(): void {
    this.#moves.frozen.clear();
  }

  /** To be called once doors were frozen or thawed. */
  admitAll(nowMs: number): void {
    for (const pool of this.#pools.values()) this.#moves.admit(pool, nowMs);
  }

  /** Does all that is due by `nowMs`, each at the instant `nowMs`. */
  advance(nowMs: number): void {
    for (;;) {
      const item = this.#moves.due.take(nowMs);
      if (item === undefined) return;
      switch (item.kind) {
        case 'lease':
          this.#effects.lapsed(item);
          this.#moves.endAndAdmit(nowMs, this.#poolOf(item), { lease: item, outcome: LAPSED });
          break;
        case 'waiter':
          this.#moves.timeOut(nowMs, this.#poolOf(item), item);
          break;
        case 'pool':
          item.governor.advance(nowMs);
          this.#moves.admit(item, nowMs);
          break;
      }
    }
  }

  #poolOf(item: Lease | Waiter): Pool {
    const pool = this.#pools.get(item.pool);
    assert(pool !== undefined, 'a lease or waiter has a pool');
    return pool;
  }
}
