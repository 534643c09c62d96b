/**
 * Asks for a slot on behalf of a request, under its Idempotency-Key where it has one, and gives the
 * slot of a caller back that hung up while it waited.
 */
import type { Pool } from '../core/pool.ts';
import { pause } from '../scheduler/clock.ts';
import { Repeats } from '../scheduler/repeats.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Verdict } from '../scheduler/verdict.ts';
import type { Request as Wanted } from '../scheduler/waiters.ts';

/** How long the answer to one who waited is held back: one whole pass of the event loop. */
const HANG_UP_MS = 0;

export class Asker {
  readonly #scheduler: Scheduler;
  readonly #repeats: Repeats;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.#repeats = new Repeats(scheduler);
  }

  async acquire(pool: Pool, wanted: Wanted, repeatKey: string | null): Promise<Verdict> {
    if (repeatKey !== null) return await this.#repeats.acquire(pool, wanted, repeatKey);
    const verdict = await this.#scheduler.acquire(pool, wanted);
    const isGrant = verdict.kind === 'granted';
    if (isGrant && verdict.hasWaited && await this.#hasHungUp(wanted.signal())) {
      this.#scheduler.release(pool, verdict.lease.slotId, { kind: 'unknown' });
    }
    return verdict;
  }

  /**
   * Whether the caller of one who waited is gone. A hang-up at the moment of the grant is noticed
   * only a little later, and an answer to nobody would cost the slot a whole term.
   */
  async #hasHungUp(signal: AbortSignal | undefined): Promise<boolean> {
    if (signal === undefined) return false;
    if (!signal.aborted) await pause(this.#scheduler.clock, HANG_UP_MS);
    return signal.aborted;
  }
}
