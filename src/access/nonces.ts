/**
 * The nonces that were taken, by pool: each may come once until its time is over. A pool holds a
 * bounded number of them; beyond it nothing more is taken until some have run out. They outlive
 * their pool, so that deleting and making it again opens no door. A nonce is kept for twice the
 * tolerance under which it was taken, and a larger one may follow: so beside the nonces stands a
 * mark for each tolerance, and what may have been taken and forgotten under any of them is refused.
 */
import { CEILINGS } from '../ceilings.ts';
import type { NonceRow } from '../store/store.ts';
import type { Nonce } from './policy.ts';

/** Of the oldest nonces, how many are looked at with each that is taken. */
const LOOKS = 4;
/** A full pool is swept at most so often. */
const SWEEP_MS = 1000;
/** A mark is stored among the nonces, by a name with a space: that of no nonce. */
const MARK = /^tolerance (\d+)$/;
/** No tolerance lets a timestamp pass that lies back so far; then its mark is of no use. */
const MARK_KEPT_MS = 2 * CEILINGS.toleranceMs;

interface PoolNonces {
  readonly pool: string;
  /** Nonce to the epoch ms until which it is kept, in the order of taking. */
  readonly untilOf: Map<string, number>;
  /** Tolerance (ms) to the epoch ms up to which timestamps may have passed under it. */
  readonly marks: Map<number, number>;
  sweptAtMs: number;
}

export class Nonces {
  readonly #pools = new Map<string, PoolNonces>();
  readonly #keep: (row: NonceRow) => void;
  readonly #perPoolMax: number;

  /** @param keep writes a row down, none later than one that is handed over after it. */
  constructor(keep: (row: NonceRow) => void, perPoolMax: number = CEILINGS.noncesOfPool) {
    this.#keep = keep;
    this.#perPoolMax = perPoolMax;
  }

  /** Takes over what was written down before. */
  restore(rows: Iterable<NonceRow>): void {
    for (const { pool, nonce, until } of rows) {
      const { untilOf, marks } = this.#of(pool);
      const [, toleranceMs] = MARK.exec(nonce) ?? [];
      if (toleranceMs === undefined) untilOf.set(nonce, until);
      else marks.set(Number(toleranceMs), until - MARK_KEPT_MS);
    }
  }

  /** Takes the nonce, in one step; or says why not. @param epochMs one that is never ahead. */
  take(
    pool: string,
    signed: Nonce,
    epochMs: number,
  ): 'taken' | 'replayed' | 'forgotten' | 'full' {
    const nonces = this.#of(pool);
    const { untilOf } = nonces;
    const { nonce, signedAtMs, toleranceMs } = signed;
    this.#dropOldest(untilOf, epochMs);
    const known = untilOf.get(nonce);
    if (known !== undefined && known >= epochMs) return 'replayed';
    if (isForgotten(nonces, signedAtMs, epochMs)) return 'forgotten';
    if (untilOf.size >= this.#perPoolMax) this.#sweep(nonces, epochMs);
    if (untilOf.size >= this.#perPoolMax) return 'full';
    this.#mark(nonces, signed, epochMs);
    const until = signedAtMs + 2 * toleranceMs;
    untilOf.delete(nonce);
    untilOf.set(nonce, until);
    this.#keep({ pool, nonce, until });
    return 'taken';
  }

  /** Forgets what ran out, of pools too that nobody calls any more. */
  prune(epochMs: number): void {
    for (const [pool, { untilOf, marks }] of this.#pools) {
      dropOver(untilOf, epochMs);
      dropOld(marks, epochMs);
      if (untilOf.size + marks.size === 0) this.#pools.delete(pool);
    }
  }

  sizeOf(pool: string): number {
    return this.#pools.get(pool)?.untilOf.size ?? 0;
  }

  #of(pool: string): PoolNonces {
    let nonces = this.#pools.get(pool);
    if (nonces === undefined) {
      nonces = { pool, untilOf: new Map(), marks: new Map(), sweptAtMs: -Infinity };
      this.#pools.set(pool, nonces);
    }
    return nonces;
  }

  /** Sees to it that the mark covers the timestamp, with a lead: it is to be written seldom. */
  #mark({ pool, marks }: PoolNonces, signed: Nonce, epochMs: number): void {
    const { signedAtMs, toleranceMs } = signed;
    if (signedAtMs <= (marks.get(toleranceMs) ?? -Infinity)) return;
    dropOld(marks, epochMs);
    const upToMs = signedAtMs + toleranceMs;
    marks.set(toleranceMs, upToMs);
    this.#keep({ pool, nonce: `tolerance ${toleranceMs}`, until: upToMs + MARK_KEPT_MS });
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
    dropOver(nonces.untilOf, epochMs);
  }
}

function dropOver(untilOf: Map<string, number>, epochMs: number): void {
  for (const [nonce, until] of untilOf) {
    if (until < epochMs) untilOf.delete(nonce);
  }
}

function dropOld(marks: Map<number, number>, epochMs: number): void {
  for (const [of, upToMs] of marks) {
    if (upToMs + MARK_KEPT_MS < epochMs) marks.delete(of);
  }
}

/** Whether a nonce of this timestamp may have been taken, and kept no longer. */
function isForgotten({ marks }: PoolNonces, signedAtMs: number, epochMs: number): boolean {
  for (const [toleranceMs, upToMs] of marks) {
    if (signedAtMs <= upToMs && signedAtMs + 2 * toleranceMs < epochMs) return true;
  }
  return false;
}
