/**
 * Asks for a slot on behalf of a request, under its Idempotency-Key where it has one.
 */
import type { Pool } from '../core/pool.ts';
import { Repeats } from '../scheduler/repeats.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Verdict } from '../scheduler/verdict.ts';
import type { Request as Wanted } from '../scheduler/waiters.ts';

export class Asker {
  readonly #scheduler: Scheduler;
  readonly #repeats: Repeats;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.#repeats = new Repeats(scheduler);
  }

  acquire(pool: Pool, wanted: Wanted, repeatKey: string | null): Promise<Verdict> {
    if (repeatKey === null) return this.#scheduler.acquire(pool, wanted);
    return this.#repeats.acquire(pool, wanted, repeatKey);
  }
}
