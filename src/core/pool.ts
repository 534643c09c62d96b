/**
 * A pool: named shared capacity with its leases, its queue and its governor. `move` is the only way
 * in which what is in use changes, and what is in use is always the sum over the live leases: no
 * counter is stored that could drift from them.
 */
import type { Gauge } from './ask.ts';
import { assert } from './assert.ts';
import { BySlotId } from './by_slot_id.ts';
import { pauseLeft } from './governor/change_log.ts';
import type { Governor, Opening } from './governor/governor.ts';
import type { Lease } from './lease.ts';
import { Pace } from './pace.ts';
import { Queue } from './queue.ts';
import type { PoolSettings } from './settings.ts';

/** An operator's pause; `untilMs` is Infinity where it lasts until it is resumed. */
export interface Pause {
  readonly untilMs: number;
  readonly reason: string | null;
}

const RETRY_MS_UNKNOWN = 1000;

export class Pool {
  readonly kind = 'pool';
  readonly name: string;
  readonly queue = new Queue();
  readonly pace = new Pace();
  settings: PoolSettings;
  readonly governor: Governor;
  pause: Pause | null = null;
  /** When its waiters were judged last, and will be by time alone (Infinity: they need not). */
  judgedAtMs = -Infinity;
  judgesAtMs = Infinity;
  /** The pool's own next instant in the due heap. */
  dueAtMs = Infinity;
  place = -1;

  readonly #leases = new BySlotId<Lease>();
  /** The leases of more than one slot, so that the sum need not look at all the others. */
  readonly #wide = new Set<Lease>();
  #mostInUse = 0;

  constructor(name: string, settings: PoolSettings, governor: Governor) {
    this.name = name;
    this.settings = settings;
    this.governor = governor;
  }

  get leases(): Omit<BySlotId<Lease>, 'set' | 'delete'> {
    return this.#leases;
  }

  /** An operator's pause (null: none), told among the changes of the governor. */
  setPause(nowMs: number, pause: Pause | null): void {
    const from = pauseLeft(this.pause?.untilMs ?? -Infinity, nowMs);
    const to = pauseLeft(pause?.untilMs ?? -Infinity, nowMs);
    this.pause = pause;
    if (from === to) return;
    const reason = pause === null || pause.reason === null ? '' : `: ${pause.reason}`;
    const why = `${pause === null ? 'resumed' : 'paused'} by the operator${reason}`;
    this.governor.tell({ atMs: nowMs, what: 'pause', from, to, why, evidence: '' });
  }

  /** By an operator; one that is over is none. */
  isPaused(nowMs: number): boolean {
    return this.pause !== null && this.pause.untilMs > nowMs;
  }

  /** Slots in use: one for each live lease, and the rest of those that hold several. */
  get inUse(): number {
    let sum = this.#leases.size;
    for (const lease of this.#wide) sum += lease.slots - 1;
    return sum;
  }

  /** Of a grant, by which so many are in use: it has the sum already. */
  noteInUse(inUse: number): void {
    if (inUse > this.#mostInUse) this.#mostInUse = inUse;
  }

  /** The most slots in use at once since this was asked last, and never fewer than are now. */
  takeMostInUse(): number {
    const most = this.#mostInUse;
    const { inUse } = this;
    this.#mostInUse = inUse;
    return Math.max(most, inUse);
  }

  gauge(nowMs: number): Gauge {
    const { limit } = this.governor;
    const remaining = Math.max(0, limit - this.inUse);
    return { limit, remaining, queued: this.queue.length, rate: this.governor.requestRate(nowMs) };
  }

  /** The one mover: a lease begins (`held`) or ends (`ended`), once each. */
  move(lease: Lease, to: 'held' | 'ended'): void {
    if (to === 'held') {
      assert(!this.#leases.has(lease.slotId), 'a lease begins once');
      this.#leases.set(lease);
      lease.isLive = true;
      if (lease.slots > 1) this.#wide.add(lease);
    } else {
      assert(this.#leases.get(lease.slotId) === lease, 'a lease ends once');
      this.#leases.delete(lease.slotId);
      lease.isLive = false;
      this.#wide.delete(lease);
    }
  }

  /** Whether so many slots may be taken now; a request wider than the limit goes in alone. */
  fits(slots: number): boolean {
    const inUse = this.inUse;
    return inUse + slots <= this.governor.limit || inUse === 0;
  }

  /** Whether pause and rates let a start through that has `ahead` others before it, or when. */
  opening(nowMs: number, tokens: number, ahead: number): Opening {
    const opening = this.governor.opening(nowMs, tokens, ahead);
    if (this.pause === null || !this.isPaused(nowMs)) return opening;
    const { untilMs } = this.pause;
    if (opening.kind === 'shut' && opening.atMs > untilMs) return opening;
    return { kind: 'shut', reason: 'paused', atMs: untilMs };
  }

  /** Before this no start goes that has `ahead` others before it, whatever ends meanwhile. */
  firmAtMs(nowMs: number, tokens: number, ahead: number): number {
    const gatesAtMs = this.#gatesFirmAtMs(nowMs, tokens, ahead);
    // An end that nobody knows (paused until resumed) may come at any time.
    const pausedUntilMs = this.pause?.untilMs ?? Infinity;
    return pausedUntilMs < Infinity ? Math.max(gatesAtMs, pausedUntilMs) : gatesAtMs;
  }

  #gatesFirmAtMs(nowMs: number, tokens: number, ahead: number): number {
    if (ahead > 0 || this.#leases.size > 0) return this.governor.firmAtMs(nowMs, tokens, ahead);
    // With nothing in use there is no end of work that could open anything.
    const opening = this.governor.opening(nowMs, tokens, 0);
    return opening.kind === 'open' ? nowMs : opening.atMs;
  }

  /** The retry hint for a caller that finds no slot free, with `ahead` others before it. */
  freeInMs(ahead: number): number {
    return this.pace.waitMs(ahead, this.#leases.size);
  }

  /** The retry hint for a gate that opens at `atMs`: whole ms, at least 1. */
  retryAfterMs(atMs: number, nowMs: number): number {
    return atMs === Infinity ? RETRY_MS_UNKNOWN : Math.max(1, Math.ceil(atMs - nowMs));
  }
}
