/**
 * At most `capacity` units (starts, or LLM tokens) in any rolling minute. Units are kept as entries
 * of an instant and an amount; with a grain, what is taken within one grain shares an entry and
 * counts from its last instant, so memory is bounded and the error is always on the side of fewer.
 * Without a grain (small capacities) the window is exact.
 */
const WINDOW_MS = 60_000;
const EXACT_CAPACITY_MAX = 240;
const START_GRAIN_MS = 250;
const TOKEN_GRAIN_MS = 1000;

export class RollingWindow {
  #capacity: number;
  readonly #grainMs: number;
  /** A ring: instants relative to the base, so that they fit 32 bits, and amounts. */
  #baseMs = 0;
  #atMs: Uint32Array;
  #amount: Float64Array | Uint32Array;
  #head = 0;
  #length = 0;
  #used = 0;
  #newestFromMs = -Infinity;

  constructor(capacity: number, unit: 'starts' | 'tokens') {
    this.#capacity = capacity;
    const isExact = unit === 'starts' && capacity <= EXACT_CAPACITY_MAX;
    this.#grainMs = isExact ? 0 : unit === 'starts' ? START_GRAIN_MS : TOKEN_GRAIN_MS;
    const entries = isExact ? capacity + 1 : WINDOW_MS / this.#grainMs + 2;
    this.#atMs = new Uint32Array(entries);
    this.#amount = unit === 'starts' ? new Uint32Array(entries) : new Float64Array(entries);
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Units that are free now. */
  free(nowMs: number): number {
    this.#expire(nowMs);
    return Math.max(0, this.#capacity - this.#used);
  }

  /**
   * The earliest instant at which `amount` more units fit once `ahead` units were taken as early
   * as they could be. An amount above the capacity fits where the window is empty.
   */
  opensAtMs(nowMs: number, amount: number, ahead: number): number {
    this.#expire(nowMs);
    const capacity = this.#capacity;
    const last = ahead + Math.min(amount, capacity) - 1;
    const cycles = Math.floor(last / capacity);
    const before = this.#used + (last % capacity) - capacity;
    if (before < 0) return nowMs + cycles * WINDOW_MS;
    return this.#instantOf(before) + (cycles + 1) * WINDOW_MS;
  }

  take(nowMs: number, amount: number): void {
    if (amount <= 0) return;
    this.#expire(nowMs);
    if (this.#length === 0) this.#baseMs = nowMs;
    this.#used += amount;
    const newest = (this.#head + this.#length - 1) % this.#atMs.length;
    const isSame = this.#length > 0 && nowMs - this.#newestFromMs <= this.#grainMs;
    const isFull = this.#length === this.#atMs.length;
    if (isSame || isFull) {
      this.#atMs[newest] = nowMs - this.#baseMs;
      this.#amount[newest] = this.#amount[newest]! + amount;
      return;
    }
    const slot = (this.#head + this.#length) % this.#atMs.length;
    this.#atMs[slot] = nowMs - this.#baseMs;
    this.#amount[slot] = amount;
    this.#newestFromMs = nowMs;
    this.#length += 1;
  }

  /** Gives back units that were taken at `takenAtMs` and not used, where they still count. */
  giveBack(nowMs: number, takenAtMs: number, amount: number): void {
    this.#expire(nowMs);
    for (let index = 0; index < this.#length; index += 1) {
      const slot = (this.#head + index) % this.#atMs.length;
      if (this.#atMs[slot]! + this.#baseMs < takenAtMs) continue;
      const given = Math.min(amount, this.#amount[slot]!);
      this.#amount[slot] = this.#amount[slot]! - given;
      this.#used -= given;
      return;
    }
  }

  /** The same entries under another capacity. */
  resized(nowMs: number, capacity: number, unit: 'starts' | 'tokens'): RollingWindow {
    const next = new RollingWindow(capacity, unit);
    this.#expire(nowMs);
    for (let index = 0; index < this.#length; index += 1) {
      const slot = (this.#head + index) % this.#atMs.length;
      next.take(this.#atMs[slot]! + this.#baseMs, this.#amount[slot]!);
    }
    return next;
  }

  /** The instant of the unit at `place`, counted from the oldest. */
  #instantOf(place: number): number {
    let passed = 0;
    let slot = this.#head;
    for (let index = 0; index < this.#length; index += 1) {
      slot = (this.#head + index) % this.#atMs.length;
      passed += this.#amount[slot]!;
      if (passed > place) break;
    }
    return this.#atMs[slot]! + this.#baseMs;
  }

  #expire(nowMs: number): void {
    while (this.#length > 0) {
      if (this.#atMs[this.#head]! + this.#baseMs > nowMs - WINDOW_MS) return;
      this.#used -= this.#amount[this.#head]!;
      this.#head = (this.#head + 1) % this.#atMs.length;
      this.#length -= 1;
    }
    this.#used = 0;
  }
}
