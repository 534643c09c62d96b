/**
 * Who waits for the end of a drain: the pool holds no lease any more, or is paused no more. Nothing
 * is stored for pools that nobody waits for.
 */
import type { Pool } from '../core/pool.ts';

export class Drains {
  readonly #waits = new Map<Pool, Set<() => void>>();
  #isClosed = false;

  /** Resolves when the drain is over, the signal is aborted, or nobody may wait any more. */
  wait(nowMs: number, pool: Pool, signal: AbortSignal): Promise<void> {
    if (isOver(pool, nowMs) || signal.aborted || this.#isClosed) return Promise.resolve();
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

  /** Something changed, or time passed. */
  look(nowMs: number): void {
    for (const [pool, waits] of this.#waits) {
      if (isOver(pool, nowMs)) { for (const done of waits) done(); }
    }
  }
}

function isOver(pool: Pool, nowMs: number): boolean {
  return pool.leases.size === 0 || !pool.isPaused(nowMs);
}
