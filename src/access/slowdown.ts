/**
 * Slows failed attempts of one address down: after some that are free, their answers go out no
 * faster than a fixed pace. Who proves to be a caller is never delayed, whatever else came from
 * the same address, so nobody can be locked out. The table is bounded; the longest quiet goes.
 */

import { networkOf } from '../cidr.ts';

/** Failures that an address may have at once before it is slowed. */
const FREE = 200;
/** From then on one answer in this time. */
const PACE_MS = 2;
const DELAY_MS_MAX = 2_000;
const ADDRESSES_MAX = 10_000;

export class Slowdown {
  /** When the next failure of an address would be due at the pace. */
  readonly #dueAtMs = new Map<string, number>();

  /** Notes a failure, and says for how long its answer is to be held back. */
  delayMs(address: string | null, nowMs: number): number {
    if (address === null) return 0;
    const name = networkOf(address);
    const dueAtMs = Math.max(this.#dueAtMs.get(name) ?? 0, nowMs) + PACE_MS;
    const latestMs = nowMs + FREE * PACE_MS + DELAY_MS_MAX;
    this.#dueAtMs.delete(name);
    this.#dueAtMs.set(name, Math.min(dueAtMs, latestMs));
    if (this.#dueAtMs.size > ADDRESSES_MAX) this.#forgetOldest();
    return Math.min(DELAY_MS_MAX, Math.max(0, dueAtMs - nowMs - FREE * PACE_MS));
  }

  get size(): number {
    return this.#dueAtMs.size;
  }

  #forgetOldest(): void {
    for (const name of this.#dueAtMs.keys()) {
      this.#dueAtMs.delete(name);
      return;
    }
  }
}
