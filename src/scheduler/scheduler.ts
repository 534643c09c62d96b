/**
 * The thin host of the core: gives each event its instant, keeps one timer for all that is due,
 * turns waits into promises, and holds every grant's answer back until it is durable. It decides
 * nothing that the core decides.
 */
import { KeyUses } from '../access/key_uses.ts';
import type { Standing } from '../access/standing.ts';
import { Bouncer } from '../core/bouncer.ts';
import type { Renewal } from '../core/bouncer.ts';
import type { Settlement } from '../core/moves.ts';
import type { Door, Lease } from '../core/lease.ts';
import { DOORS } from '../core/lease.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Pool } from '../core/pool.ts';
import type { Waiter } from '../core/queue.ts';
import { Sequence } from '../core/sequence.ts';
import type { ErrorCode } from '../errors.ts';
import type { LeaseRow, Store } from '../store/store.ts';
import { AccessLog } from './access_log.ts';
import { Alarm } from './alarm.ts';
import type { Clock } from './clock.ts';
import { Drains } from './drains.ts';
import { Journal } from './journal.ts';
import { restored } from './rows.ts';
import { slotIds } from './slot_id.ts';
import { Teller } from './teller.ts';
import type { Refused, Verdict } from './verdict.ts';
import { refusedBy } from './verdict.ts';
import type { Attempt, Request, Waiting } from './waiters.ts';
import { Waiters } from './waiters.ts';

export interface SchedulerOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** The highest fence and attempt number that the database knows. */
  readonly fence: number;
  readonly attempt: number;
  readonly mint?: () => string;
  /** 0 to 1, for the jitter of governors. */
  readonly random: () => number;
  readonly events: SchedulerEvents;
}

/** What the process hears of. */
export interface SchedulerEvents {
  lapsed(lease: Lease, nowMs: number): void;
  storeFailing(error: unknown): void;
  storeRecovered(): void;
  /** Another server owns the database: end with exit code 3. */
  storeLost(): void;
  /** The core broke an invariant: end, the restart recovers. */
  broken(error: unknown): void;
}

export class Scheduler {
  readonly clock: Clock;
  readonly log: AccessLog;
  readonly journal: Journal;
  readonly #bouncer: Bouncer;
  readonly #attempts: Sequence;
  readonly #events: SchedulerEvents;
  /** Uses of keys get their time from the turn that follows them. */
  readonly keyUses = new KeyUses();
  /** What fails by now of one who waits, by the rules of its pool; set by whoever has the rules. */
  faultOf: (standing: Standing, pool: string) => string | null = () => null;
  readonly #waiters = new Waiters();
  readonly #drains = new Drains();
  readonly #teller: Teller;
  readonly #alarm: Alarm;
  #isDraining = false;

  constructor(options: SchedulerOptions) {
    const { store, clock, events } = options;
    this.clock = clock;
    this.#events = events;
    const fences = new Sequence(options.fence);
    this.#attempts = new Sequence(options.attempt);
    this.#bouncer = new Bouncer({
      fences,
      mint: options.mint ?? slotIds(),
      random: options.random,
      effects: {
        changed: (lease) => this.#changed(lease),
        settled: (waiter, admission) => this.#settled(waiter, admission),
        lapsed: (lease) => events.lapsed(lease, clock.nowMs()),
      },
    });
    this.journal = new Journal(store, clock, {
      fence: () => fences.last,
      events: {
        failing: (untold, error) => this.#failing(untold, error),
        recovered: () => this.#recovered(),
        lost: () => events.storeLost(),
      },
    });
    this.log = new AccessLog(this.journal, clock);
    const { journal, log, pools } = this;
    const giveBack = (lease: Lease) => this.#giveBack(lease);
    this.#teller = new Teller({ clock, journal, log, pools, giveBack });
    this.#alarm = new Alarm(clock, () => this.turn(() => {}));
  }

  get pools(): ReadonlyMap<string, Pool> {
    return this.#bouncer.pools;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** A fresh id for the access log. */
  nextAttempt(): string {
    return this.#attempts.next(this.clock.nowMs()).toString(36);
  }

  /**
   * Puts back what the database kept: while the server was down nobody could renew. It is written
   * anew, so that a deadline that the wall clock moved does not move again at the next start.
   */
  restore(rows: readonly LeaseRow[]): void {
    const nowMs = this.clock.nowMs();
    const leases = rows.map((row) => restored(row, nowMs));
    this.turn((_) => {
      for (const lease of leases) this.#bouncer.restore(lease);
    });
    this.restamp();
  }

  /** Answers once the grant is durable, the refusal is sure, or the wait is over. */
  acquire(pool: Pool, request: Request): Promise<Verdict> {
    return this.turn((nowMs) => {
      const attempt = { ...request, attempt: this.#attempts.next(nowMs).toString(36) };
      const code = this.closedWith(attempt.door);
      if (code !== null) return Promise.resolve(this.#refuse(pool, attempt, { code, queuedMs: 0 }));
      const admission = this.#bouncer.acquire(nowMs, pool, attempt);
      switch (admission.kind) {
        case 'granted':
          return this.#teller.grant(attempt, { ...admission, queuedMs: 0, hasWaited: false });
        case 'queued':
          return this.#waiters.wait(admission.waiter, attempt, (w) => this.#withdraw(w));
        default: {
          const refused = refusedBy(admission, { attempt: attempt.attempt, queuedMs: 0 });
          return Promise.resolve(this.#teller.refuse(pool.name, attempt, refused));
        }
      }
    });
  }

  /** One step: all that is due comes first, so that no answer depends on when a timer fired. */
  turn<T>(step: (nowMs: number, bouncer: Bouncer) => T): T {
    try {
      const nowMs = this.clock.nowMs();
      this.keyUses.stamp(nowMs);
      this.#bouncer.advance(nowMs);
      const done = step(nowMs, this.#bouncer);
      this.#drains.look(nowMs);
      return done;
    } catch (error) {
      this.#events.broken(error);
      throw error;
    } finally {
      this.#alarm.set(this.#bouncer.dueAtMs);
    }
  }

  renew(pool: Pool, slotId: string): Renewal {
    return this.turn((nowMs) => this.#bouncer.renew(nowMs, pool, slotId));
  }

  release(pool: Pool, slotId: string, outcome: Outcome): boolean {
    return this.turn((nowMs) => this.#bouncer.release(nowMs, pool, { slotId, outcome }));
  }

  /** Grants nothing from now on, and refuses all who wait. Renew and release go on. */
  drain(): void {
    this.#isDraining = true;
    this.#bouncer.freeze(DOORS);
    this.dismiss(() => ({ code: 'shutting_down' }));
    this.#drains.close();
  }

  /** Refuses all who wait and are told why. */
  dismiss(why: (attempt: Attempt, pool: string) => Pick<Refused, 'code' | 'reason'> | null): void {
    // The newest first: whoever leaves the head of the line may let the next one in.
    for (const [waiter, told] of this.#waiters.told(why).reverse()) {
      const left = this.#leave(waiter);
      left?.tell(this.#refuse(left.pool, left.attempt, { ...told, queuedMs: left.queuedMs }));
    }
  }

  /** Resolves when the pool is empty or paused no more, nobody asks, or the server drains. */
  whenDrained(pool: Pool, signal: AbortSignal): Promise<void> {
    return this.#drains.wait(this.clock.nowMs(), pool, signal);
  }

  /** What somebody is told whose wait is over: his key may have ended it, or the store. */
  timedOut(request: Request, pool: string): Pick<Refused, 'code' | 'reason'> {
    const reason = this.faultOf(request, pool);
    if (reason !== null) return { code: 'unauthorized', reason };
    const isUnavailable = this.journal.isFailing && request.door === 'lock';
    return { code: isUnavailable ? 'storage_unavailable' : 'queue_timeout' };
  }

  /** Ends all timers. The journal must be settled before. */
  close(): void {
    this.#alarm.cancel();
    this.journal.close();
  }

  /** Rewrites every stored lease after the wire's clock was shifted. */
  restamp(): void {
    for (const pool of this.pools.values()) {
      for (const lease of pool.leases.values()) {
        if (lease.door === 'lock') this.journal.changed(lease);
      }
    }
  }

  /** Why nobody is admitted by this door now, if so. Proxied slots never wait for the store. */
  closedWith(door: Door): ErrorCode | null {
    if (this.#isDraining) return 'shutting_down';
    return door === 'lock' && this.journal.isFailing ? 'storage_unavailable' : null;
  }

  /** Refuses for a reason that is not the pool's. */
  #refuse(
    pool: Pool,
    attempt: Attempt,
    why: Pick<Refused, 'code' | 'reason' | 'queuedMs'>,
  ): Refused {
    const gauge = pool.gauge(this.clock.nowMs());
    const refused = { kind: 'refused', attempt: attempt.attempt, gauge, ...why } as const;
    return this.#teller.refuse(pool.name, attempt, refused);
  }

  #giveBack(lease: Lease): void {
    const pool = this.pools.get(lease.pool);
    if (pool !== undefined) this.release(pool, lease.slotId, { kind: 'unsent' });
  }

  /** The caller of a waiter is gone: nobody hears the verdict, only the log. */
  #withdraw(waiter: Waiter): void {
    const left = this.#leave(waiter);
    if (left === null) return;
    const { attempt, pool, queuedMs } = left;
    const gauge = pool.gauge(this.clock.nowMs());
    const gone = { kind: 'refused', attempt: attempt.attempt, gauge, queuedMs } as const;
    left.tell(this.#teller.callerGone(pool.name, attempt, { ...gone, code: 'queue_timeout' }));
  }

  /** Takes a waiter out of the line; null where what is due by now has just settled it. */
  #leave(waiter: Waiter): Waiting & { pool: Pool; queuedMs: number } | null {
    return this.turn((nowMs) => {
      const waiting = this.#waiters.take(waiter);
      if (waiting === undefined) return null;
      this.#bouncer.withdraw(nowMs, waiter);
      const pool = this.pools.get(waiter.pool) as Pool;
      return { ...waiting, pool, queuedMs: nowMs - waiter.joinedAtMs };
    });
  }

  #settled(waiter: Waiter, admission: Settlement): void {
    const waiting = this.#waiters.take(waiter);
    if (waiting === undefined) return;
    const { attempt, tell } = waiting;
    const queuedMs = this.clock.nowMs() - waiter.joinedAtMs;
    if (admission.kind === 'granted') {
      return tell(this.#teller.grant(attempt, { ...admission, queuedMs, hasWaited: true }));
    }
    const refused = refusedBy(admission, { attempt: attempt.attempt, queuedMs });
    const late = admission.kind === 'timed_out' ? this.timedOut(attempt, waiter.pool) : {};
    tell(this.#teller.refuse(waiter.pool, attempt, { ...refused, ...late }));
  }

  #changed(lease: Lease): void {
    if (lease.door === 'lock') this.journal.changed(lease);
  }

  #failing(untold: readonly Lease[], error: unknown): void {
    // Their grants could not be made durable; proxied ones need not be.
    this.#bouncer.freeze(['lock']);
    for (const lease of untold) this.#giveBack(lease);
    this.turn((nowMs) => this.#bouncer.admitAll(nowMs));
    this.#events.storeFailing(error);
  }

  #recovered(): void {
    this.#events.storeRecovered();
    if (this.#isDraining) return;
    this.#bouncer.thaw();
    this.turn((nowMs) => this.#bouncer.admitAll(nowMs));
  }
}
