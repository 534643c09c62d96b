/**
 * A scheduler on a manual clock and a test store, with one pool: the smallest server without HTTP.
 * What the process would hear of is kept.
 */
import type { Lease } from '../../src/core/lease.ts';
import type { Pause, Pool } from '../../src/core/pool.ts';
import type { PoolSettings } from '../../src/core/settings.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import type { Verdict } from '../../src/scheduler/verdict.ts';
import type { Request } from '../../src/scheduler/waiters.ts';
import { ManualClock } from './manual_clock.ts';
import { settings } from './pools.ts';
import { presenceOf } from './presence.ts';
import { TestStore } from './test_store.ts';

/** An acquire under way: what it was told, once it was. */
export interface Told {
  readonly caller: AbortController;
  verdict: Verdict | null;
}

export interface RigParts {
  readonly store?: TestStore;
  readonly clock?: ManualClock;
  readonly pool?: PoolSettings;
  /** Whether the test makes the pools itself. */
  readonly isBare?: boolean;
}

export class Rig {
  readonly clock: ManualClock;
  readonly store: TestStore;
  readonly scheduler: Scheduler;
  readonly heard: string[] = [];
  readonly lapsed: Lease[] = [];
  readonly #settings: PoolSettings;

  constructor(parts: RigParts = {}) {
    this.clock = parts.clock ?? new ManualClock();
    this.store = parts.store ?? new TestStore();
    this.#settings = parts.pool ?? settings();
    const { fence } = this.store;
    let ids = 0;
    this.scheduler = new Scheduler({
      store: this.store,
      clock: this.clock,
      fence,
      attempt: 0,
      mint: () => `slot ${fence} ${++ids}`,
      random: () => 0.5,
      events: {
        lapsed: (lease) => this.lapsed.push(lease),
        storeFailing: () => this.heard.push('failing'),
        storeRecovered: () => this.heard.push('recovered'),
        storeLost: () => this.heard.push('lost'),
        broken: (error) => this.heard.push(`broken: ${error}`),
      },
    });
    if (parts.isBare === true) return;
    const how = { settings: this.#settings };
    this.scheduler.turn((nowMs, bouncer) => bouncer.create(nowMs, 'a', how));
  }

  get pool(): Pool {
    return this.scheduler.pools.get('a') as Pool;
  }

  /** Asks for a slot; the answer comes when the test lets it. */
  acquire(more: Partial<Request> = {}): Told {
    const caller = new AbortController();
    const told: Told = { caller, verdict: null };
    const request: Request = {
      door: 'lock',
      waitMs: 0,
      slots: 1,
      tokens: 0,
      keyId: 'key 1',
      signer: null,
      holder: null,
      address: '127.0.0.1',
      presence: presenceOf(caller.signal),
      ...more,
    };
    void this.scheduler.acquire(this.pool, request).then((verdict) => told.verdict = verdict);
    return told;
  }

  /** A lease that is durable and told. */
  async hold(more: Partial<Request> = {}): Promise<Lease> {
    const told = this.acquire(more);
    await this.clock.settle();
    return leaseOf(told);
  }

  release({ slotId }: Lease): boolean {
    return this.scheduler.release(this.pool, slotId, { kind: 'ok' });
  }

  renew({ slotId }: Pick<Lease, 'slotId'>): string {
    return this.scheduler.renew(this.pool, slotId).kind;
  }

  configure(pool: PoolSettings): void {
    this.scheduler.turn((nowMs, bouncer) => bouncer.configure(nowMs, this.pool, pool));
  }

  pause(pause: Pause | null): void {
    this.scheduler.turn((nowMs, bouncer) => bouncer.setPause(nowMs, this.pool, pause));
  }

  /** The next process on the same database, `downMs` after this one was killed. */
  restart(downMs: number): Rig {
    this.clock.dropTimers();
    this.clock.stall(downMs);
    const next = new Rig({ store: this.store, clock: this.clock, pool: this.#settings });
    next.scheduler.restore([...this.store.leases.values()]);
    return next;
  }
}

/** `granted`, the code of a refusal, or null while there is no answer. */
export function answer({ verdict }: Told): string | null {
  if (verdict === null) return null;
  return verdict.kind === 'granted' ? 'granted' : verdict.code;
}

export function leaseOf({ verdict }: Told): Lease {
  if (verdict?.kind !== 'granted') throw new Error(`wanted a grant, not ${verdict?.kind}`);
  return verdict.lease;
}
