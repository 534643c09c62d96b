/**
 * Netflix Vegas: estimates the queue from the best round trip seen, and steps by the logarithm of
 * the limit. The best round trip is sampled anew after a random number of samples.
 */
import type { Random } from '../chance.ts';
import { clamp, Reference, type Sample } from './reference.ts';

const FIRST = 20;
const MAX = 1000;
const PROBE_MULTIPLIER = 30;

export class Vegas extends Reference {
  #bestMs = 0;
  #samples = 0;
  #jitter: number;

  constructor(readonly random: Random) {
    super(FIRST);
    this.#jitter = 0.5 + 0.5 * random();
  }

  protected sample({ isRefused, rttMs, inFlight }: Sample): void {
    this.#samples += 1;
    if (this.#samples >= this.#jitter * PROBE_MULTIPLIER * this.level) {
      this.#samples = 0;
      this.#jitter = 0.5 + 0.5 * this.random();
      this.#bestMs = rttMs;
      return;
    }
    if (this.#bestMs === 0 || rttMs < this.#bestMs) {
      this.#bestMs = rttMs;
      return;
    }
    const step = Math.max(1, Math.floor(Math.log10(this.level)));
    this.level = clamp(this.#next({ isRefused, rttMs, inFlight, step }), 1, MAX);
  }

  #next(seen: { isRefused: boolean; rttMs: number; inFlight: number; step: number }): number {
    const { step } = seen;
    if (seen.isRefused) return this.level - step;
    if (seen.inFlight * 2 < this.level) return this.level;
    const queue = Math.ceil(this.level * (1 - this.#bestMs / seen.rttMs));
    if (queue <= step) return this.level + 6 * step;
    if (queue < 3 * step) return this.level + step;
    return queue > 6 * step ? this.level - step : this.level;
  }
}
