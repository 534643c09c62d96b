/**
 * The nonces that were taken, by pool: each may come once until its time is over. A pool holds a
 * bounded number of them; beyond it nothing more is taken until some have run out. They outlive
 * their pool, so that deleting and making it again opens no door.
 */
import { CEILINGS } from '../ceilings.ts';
import type { NonceRow } from '../store/store.ts';
import type { Nonce } from './policy.ts';

/** Of the oldest nonces, how many are looked at with each that is taken. */
const LOOKS = 4;
/** A full pool is swept at most so often. */
const SWEEP_MS = 1000;

/** A pool's tolerance that was in force last, and since when nonces of it are known (epoch ms). */
export interface Tolerance {
  readonly toleranceMs: number;
  readonly sinceMs: number;
}

export type KeepTolerances = (byPool: ReadonlyMap<string, Tolerance>) => void;

interface PoolNonces {
  /** Nonce to the epoch ms until which it is kept, in the order of taking. */
  readonly untilOf: Map<string, number>;
  sweptAtMs: number;
}

export class Nonces {
  readonly #pools = new Map<string, PoolNonces>();
  readonly #keep: (row: NonceRow) => void;
  readonly #tolerances = new Map<string, Tolerance>();
  readonly #keepTolerances: KeepTolerances;
  readonly #perPoolMax: number;

  /**
   * @param keep writes a nonce down.
   * @param keepTolerances writes the tolerances down; where that of a raise is lost, the next start
   * finds the one before, and refuses too much rather than too little.
   */
  constructor(
    keep: (row: NonceRow) => void,
    perPoolMax: number = CEILINGS.noncesOfPool,
    keepTolerances: KeepTolerances = () => {},
  ) {
    this.#keep = keep;
    this.#perPoolMax = perPoolMax;
    this.#keepTolerances = keepTolerances;
  }

  /** Takes over what was written down before. */
  restore(rows: Iterable<NonceRow>): void {
    for (const { pool, nonce, until } of rows) this.#of(pool).untilOf.set(nonce, until);
  }

  restoreTolerances(tolerances: Iterable<readonly [pool: string, Tolerance]>): void {
    for (const [pool, tolerance] of tolerances) this.#tolerances.set(pool, tolerance);
  }

  /** Takes the nonce, in one step; or says why not. */
  take(pool: string, { nonce, until }: Nonce, epochMs: number): 'taken' | 'replayed' | 'full' {
    const nonces = this.#of(pool);
    const { untilOf } = nonces;
    this.#dropOldest(untilOf, epochMs);
    const known = untilOf.get(nonce);
    if (known !== undefined && known >= epochMs) return 'replayed';
    if (untilOf.size >= this.#perPoolMax) this.#sweep(nonces, epochMs);
    if (untilOf.size >= this.#perPoolMax) return 'full';
    untilOf.delete(nonce);
    untilOf.set(nonce, until);
    this.#keep({ pool, nonce, until });
    return 'taken';
  }

  /**
   * Before which instant a timestamp must be refused although it lies within the tolerance: where
   * the tolerance was raised, nonces of that time may be forgotten already.
   */
  signedSince(pool: string, toleranceMs: number, epochMs: number): number {
    const last = this.#tolerances.get(pool);
    const isRaised = last !== undefined && toleranceMs > last.toleranceMs;
    const sinceMs = isRaised
      ? Math.max(last.sinceMs, epochMs - last.toleranceMs)
      : last?.sinceMs ?? 0;
    if (toleranceMs !== last?.toleranceMs) {
      this.#tolerances.set(pool, { toleranceMs, sinceMs });
      this.#keepTolerances(this.#tolerances);
    }
    return sinceMs;
  }

  sizeOf(pool: string): number {
    return this.#pools.get(pool)?.untilOf.size ?? 0;
  }

  #of(pool: string): PoolNonces {
    let nonces = this.#pools.get(pool);
    if (nonces === undefined) {
      nonces = { untilOf: new Map(), sweptAtMs: -Infinity };
      this.#pools.set(pool, nonces);
    }
    return nonces;
  }

  #dropOldest(untilOf: Map<string, number>, epochMs: number): void {
    let looks = 0;
    for (const [nonce, until] of untilOf) {
      if (until >= epochMs || looks++ >= LOOKS) return;
      untilOf.delete(nonce);
    }
  }

  #sweep(nonces: PoolNonces, epochMs: number): void {
    if (Math.abs(epochMs - nonces.sweptAtMs) < SWEEP_MS) return;
    nonces.sweptAtMs = epochMs;
    for (const [nonce, until] of nonces.untilOf) {
      if (until < epochMs) nonces.untilOf.delete(nonce);
    }
  }
}
