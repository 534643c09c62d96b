/**
 * A bouncer with one pool on a table: its instants are the test's, its slot ids are counted, and
 * everything that it tells its host is kept.
 */
import type { Ask } from '../../src/core/ask.ts';
import type { Admission } from '../../src/core/admission.ts';
import { Bouncer } from '../../src/core/bouncer.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { Settlement } from '../../src/core/moves.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { Pool } from '../../src/core/pool.ts';
import type { Waiter } from '../../src/core/queue.ts';
import { Sequence } from '../../src/core/sequence.ts';
import type { PoolSettings } from '../../src/core/settings.ts';
import { Gate } from './gate.ts';
import { ask, settings, T0 } from './pools.ts';

export class Bench {
  readonly settled = new Map<Waiter, Settlement>();
  readonly begun: Lease[] = [];
  readonly ended: Lease[] = [];
  readonly lapsed: Lease[] = [];
  readonly bouncer: Bouncer;
  readonly pool: Pool;
  nowMs = T0;
  #ids = 0;

  constructor(pool: PoolSettings = settings()) {
    this.bouncer = new Bouncer({
      fences: new Sequence(),
      random: () => 0.5,
      mint: () => `slot ${++this.#ids}`,
      effects: {
        changed: (lease) => (lease.isLive ? this.begun : this.ended).push(lease),
        settled: (waiter, settlement) => {
          if (this.settled.has(waiter)) throw new Error('a waiter is settled once');
          this.settled.set(waiter, settlement);
        },
        lapsed: (lease) => this.lapsed.push(lease),
      },
    });
    this.pool = this.bouncer.create(this.nowMs, 'a', { settings: pool });
  }

  /** Lets time pass, stopping at each instant at which something is due. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.bouncer.dueAtMs <= untilMs) {
      this.nowMs = Math.max(this.nowMs, this.bouncer.dueAtMs);
      this.bouncer.advance(this.nowMs);
    }
    this.nowMs = untilMs;
  }

  acquire(more: Partial<Ask> = {}): Admission {
    return this.bouncer.acquire(this.nowMs, this.pool, ask(more));
  }

  /** A lease, where one must be granted. */
  hold(slots = 1, more: Partial<Ask> = {}): Lease {
    const admission = this.acquire({ slots, ...more });
    if (admission.kind !== 'granted') throw new Error(`wanted a grant, not ${admission.kind}`);
    return admission.lease;
  }

  /** A waiter, where one must be queued. */
  wait(waitMs = 1000, more: Partial<Ask> = {}): Waiter {
    const admission = this.acquire({ waitMs, ...more });
    if (admission.kind !== 'queued') throw new Error(`wanted a wait, not ${admission.kind}`);
    return admission.waiter;
  }

  /** How the wait ended; null while it goes on. */
  fate(waiter: Waiter): Settlement['kind'] | null {
    return this.settled.get(waiter)?.kind ?? null;
  }

  renew({ slotId }: Lease): string {
    return this.bouncer.renew(this.nowMs, this.pool, slotId).kind;
  }

  release({ slotId }: Lease, outcome: Outcome = { kind: 'ok' }): boolean {
    return this.bouncer.release(this.nowMs, this.pool, { slotId, outcome });
  }

  /** Puts a gate in the place of the pool's governor. */
  gate(limit: number): Gate {
    const gate = new Gate(limit);
    Object.assign(this.pool, { governor: gate });
    return gate;
  }

  configure(pool: PoolSettings): void {
    this.bouncer.configure(this.nowMs, this.pool, pool);
  }
}
