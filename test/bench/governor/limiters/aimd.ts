/**
 * Netflix AIMD: plus one for every good sample while at least half of the limit is used, times 0.9
 * for every drop or time-out. Defaults but for the minimum.
 */
import { clamp, Reference, type Sample } from './reference.ts';

const FIRST = 20;
const MAX = 200;
const BACKOFF = 0.9;
const TIMEOUT_MS = 5000;

export class Aimd extends Reference {
  constructor() {
    super(FIRST);
  }

  protected sample({ isRefused, rttMs, inFlight }: Sample): void {
    if (isRefused || rttMs > TIMEOUT_MS) this.level = Math.floor(this.level * BACKOFF);
    else if (inFlight * 2 >= this.level) this.level += 1;
    this.level = clamp(this.level, 1, MAX);
  }
}
