/**
 * What was answered so far, counted by pool and outcome as the attempts are told, each once: no
 * count of a pool ever goes down. It knows pools that exist and codes of the error table alone, so
 * it cannot grow with what callers make up; a pool that is gone is forgotten.
 */
import type { LogEntry } from '../store/entry.ts';
import { Histogram } from './histogram.ts';

/** Upper bounds of the waits, in ms; whoever does not wait is in the first. */
export const WAIT_BOUNDS_MS: readonly number[] = [
  0,
  10,
  50,
  100,
  250,
  500,
  1_000,
  2_500,
  5_000,
  10_000,
  30_000,
  60_000,
  300_000,
];

export class PoolTally {
  granted = 0;
  refused = 0;
  /** By the access log's outcome. */
  readonly refusals = new Map<string, number>();
  readonly waits = new Histogram(WAIT_BOUNDS_MS);
}

export class Tally {
  readonly #pools = new Map<string, PoolTally>();
  /** Calls that named a pool that there is not. */
  unknownPools = 0;

  of(pool: string): PoolTally {
    let tally = this.#pools.get(pool);
    if (tally === undefined) this.#pools.set(pool, tally = new PoolTally());
    return tally;
  }

  note({ pool, outcome, queuedMs }: LogEntry): void {
    const tally = this.of(pool);
    tally.waits.note(queuedMs);
    if (outcome === 'granted') {
      tally.granted++;
      return;
    }
    tally.refused++;
    tally.refusals.set(outcome, (tally.refusals.get(outcome) ?? 0) + 1);
  }

  /** Forgets a pool: one that is made under its name begins at 0. */
  forget(pool: string): void {
    this.#pools.delete(pool);
  }

  /** Forgets all pools but these. */
  keep(pools: ReadonlyMap<string, unknown>): void {
    for (const name of this.#pools.keys()) if (!pools.has(name)) this.#pools.delete(name);
  }
}
