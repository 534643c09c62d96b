/**
 * Who waits for a pool to hold no lease any more (a drain). Nothing is stored for pools that nobody
 * waits for.
 */
import type { Pool } from '../core/pool.ts';

export class Empties {
  readonly #waits = new Map<Pool, Set<() => void>>();
  #isClosed = false;

  /** Resolves when the pool holds nothing, the signal is aborted, or nobody may wait any more. */
  wait(pool: Pool, signal: AbortSignal): Promise<void> {
    if (pool.leases.size === 0 || signal.aborted || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const waits = this.#waits.get(pool) ?? new Set();
      this.#waits.set(pool, waits);
      const done = () => {
        waits.delete(done);
        if (waits.size === 0) this.#waits.delete(pool);
        resolve();
      };
      waits.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Ends all waits, now and later: a wait without end must not keep the server from stopping. */
  close(): void {
    this.#isClosed = true;
    for (const waits of this.#waits.values()) for (const done of waits) done();
  }

  /** A lease of the pool ended. */
  look(pool: Pool | undefined): void {
    if (pool === undefined || pool.leases.size > 0) return;
    for (const done of this.#waits.get(pool) ?? []) done();
  }
}
