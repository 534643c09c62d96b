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
    const capacity = this.#capacity;
    let expired = 0;
    let used = this.#used;
    while (expired < this.#length && this.#entryAtMs(expired) <= nowMs - WINDOW_MS) {
      used -= this.#amount[this.#slot(expired)]!;
      expired += 1;
    }
    const last = ahead + Math.min(amount, capacity) - 1;
    const cycles = Math.floor(last / capacity);
    const place = used + (last % capacity) - capacity;
    if (place < 0) return nowMs + cycles * WINDOW_MS;
    return this.#instantOf(place, expired) + (cycles + 1) * WINDOW_MS;
  }

  take(nowMs: number, amount: number): void {
    if (amount <= 0) return;
    this.#expire(nowMs);
    if (this.#length === 0) this.#baseMs = nowMs;
    this.#used += amount;
    const newest = this.#slot(this.#length - 1);
    const isSame = this.#length > 0 && nowMs - this.#newestFromMs <= this.#grainMs;
    const isFull = this.#length === this.#atMs.length;
    const slot = isSame || isFull ? newest : this.#slot(this.#length);
    if (slot === newest && this.#length > 0) {
      this.#amount[slot] = this.#amount[slot]! + amount;
    } else {
      this.#amount[slot] = amount;
      this.#newestFromMs = nowMs;
      this.#length += 1;
    }
    this.#atMs[slot] = nowMs - this.#baseMs;
  }

  /** Gives back units that were taken at `takenAtMs` and not used, where they still count. */
  giveBack(nowMs: number, takenAtMs: number, amount: number): void {
    this.#expire(nowMs);
    for (let index = 0; index < this.#length; index += 1) {
      if (this.#entryAtMs(index) < takenAtMs) continue;
      const slot = this.#slot(index);
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
      next.take(this.#entryAtMs(index), this.#amount[this.#slot(index)]!);
    }
    return next;
  }

  /** The instant of the unit at `place`, counted from the entry `first`. */
  #instantOf(place: number, first: number): number {
    let passed = 0;
    let index = first;
    for (; index < this.#length - 1; index += 1) {
      passed += this.#amount[this.#slot(index)]!;
      if (passed > place) break;
    }
    return this.#entryAtMs(index);
  }

  #slot(index: number): number {
    const slot = this.#head + index;
    return slot < this.#atMs.length ? slot : slot - this.#atMs.length;
  }

  #entryAtMs(index: number): number {
    return this.#atMs[this.#slot(index)]! + this.#baseMs;
  }

  #expire(nowMs: number): void {
    while (this.#length > 0 && this.#entryAtMs(0) <= nowMs - WINDOW_MS) {
      this.#used -= this.#amount[this.#head]!;
      this.#head = this.#slot(1);
      this.#length -= 1;
    }
    if (this.#length === 0) this.#used = 0;
  }
}
