/**
 * At most `capacity` units (starts, or LLM tokens) in any rolling minute. Units are kept as entries
 * of an instant and an amount; with a grain, what is taken within one grain shares an entry and
 * counts from its last instant, so memory is bounded and the error is always on the side of fewer.
 * Without a grain (small capacities) the window is exact.
 */
/** The minute that an operator's rates are of. */
export const WINDOW_MS = 60_000;
const EXACT_CAPACITY_MAX = 120;
const START_GRAIN_MS = 500;
const TOKEN_GRAIN_MS = 2000;
/** Of an entry: its instant, its amount, and what of that is reserved and not settled yet. */
const FIELDS = 3;

export type WindowUnit = 'starts' | 'tokens';

export class RollingWindow {
  readonly capacity: number;
  readonly #grainMs: number;
  /** A ring of entries. Amounts of tokens may be beyond 32 bits. */
  readonly #entries: Float64Array;
  #head = 0;
  #length = 0;
  #used = 0;
  #newestFromMs = -Infinity;

  constructor(capacity: number, unit: WindowUnit, entriesMin = 0) {
    this.capacity = capacity;
    const isExact = unit === 'starts' && capacity <= EXACT_CAPACITY_MAX;
    this.#grainMs = isExact ? 0 : unit === 'starts' ? START_GRAIN_MS : TOKEN_GRAIN_MS;
    const entries = isExact ? capacity + 1 : WINDOW_MS / this.#grainMs + 2;
    this.#entries = new Float64Array(Math.max(entries, entriesMin) * FIELDS);
  }

  /** Units that are free now. */
  free(nowMs: number): number {
    this.#expire(nowMs);
    return Math.max(0, this.capacity - this.#used);
  }

  /**
   * The earliest instant at which `amount` more units fit once `ahead` units were taken as early
   * as they could be. An amount above the capacity fits where the window is empty. Asks only.
   */
  opensAtMs(nowMs: number, amount: number, ahead: number): number {
    const { capacity } = this;
    let expired = 0;
    let used = this.#used;
    while (expired < this.#length && this.#atMs(expired) <= nowMs - WINDOW_MS) {
      used -= this.#amount(expired);
      expired += 1;
    }
    const last = ahead + Math.min(amount, capacity) - 1;
    const cycles = Math.floor(last / capacity);
    const place = used + (last % capacity) - capacity;
    if (place < 0) return nowMs + cycles * WINDOW_MS;
    return this.#instantOf(place, expired) + (cycles + 1) * WINDOW_MS;
  }

  /**
   * The earliest instant at which `amount` more units may fit, should all that is reserved turn out
   * to be unused: until then they do not, whatever is settled. Asks only.
   */
  firmAtMs(nowMs: number, amount: number): number {
    let room = this.capacity - Math.min(amount, this.capacity);
    for (let index = this.#length - 1; index >= 0; index -= 1) {
      room -= Math.max(0, this.#amount(index) - this.#reserved(index));
      if (room < 0) return Math.max(nowMs, this.#atMs(index) + WINDOW_MS);
    }
    return nowMs;
  }

  /** @param reserved how much of the amount is an estimate, to be settled. */
  take(nowMs: number, amount: number, reserved = 0): void {
    if (amount <= 0) return;
    this.#expire(nowMs);
    this.#used += amount;
    const isSame = this.#length > 0 && nowMs - this.#newestFromMs <= this.#grainMs;
    const isFull = this.#length * FIELDS === this.#entries.length;
    if (!isSame && !isFull) {
      this.#length += 1;
      this.#newestFromMs = nowMs;
      this.#entries.fill(0, this.#place(this.#length - 1), this.#place(this.#length - 1) + FIELDS);
    }
    const place = this.#place(this.#length - 1);
    this.#entries[place] = nowMs;
    this.#entries[place + 1] = this.#entries[place + 1]! + amount;
    this.#entries[place + 2] = this.#entries[place + 2]! + reserved;
  }

  /** Gives back units that were taken at `takenAtMs` and not used, where they still count. */
  giveBack(nowMs: number, takenAtMs: number, amount: number): void {
    const index = this.#indexOf(nowMs, takenAtMs);
    if (index === null) return;
    const place = this.#place(index);
    const given = Math.min(amount, this.#entries[place + 1]!);
    this.#entries[place + 1] = this.#entries[place + 1]! - given;
    this.#used -= given;
    // An entry of nothing would take the place of one that is still to come.
    if (this.#entries[place + 1] === 0) this.#remove(index);
  }

  /** What was reserved at `takenAtMs` is an estimate no longer. */
  settle(nowMs: number, takenAtMs: number, reserved: number): void {
    const index = this.#indexOf(nowMs, takenAtMs);
    if (index === null) return;
    const place = this.#place(index);
    this.#entries[place + 2] = Math.max(0, this.#entries[place + 2]! - reserved);
  }

  /** Of the entry that holds what was taken at `takenAtMs`; null where that counts no longer. */
  #indexOf(nowMs: number, takenAtMs: number): number | null {
    this.#expire(nowMs);
    for (let index = 0; index < this.#length; index += 1) {
      const atMs = this.#atMs(index);
      if (atMs >= takenAtMs) return atMs - takenAtMs <= this.#grainMs ? index : null;
    }
    return null;
  }

  /** What counts now: instants and amounts, oldest first. */
  entries(nowMs: number): [atMs: number, amount: number][] {
    this.#expire(nowMs);
    return Array.from(
      { length: this.#length },
      (_, index) => [this.#atMs(index), this.#amount(index)],
    );
  }

  /** The same entries under another capacity. */
  resized(nowMs: number, capacity: number, unit: WindowUnit): RollingWindow {
    this.#expire(nowMs);
    const next = new RollingWindow(capacity, unit, this.#length);
    for (let index = 0; index < this.#length; index += 1) {
      next.take(this.#atMs(index), this.#amount(index), this.#reserved(index));
    }
    return next;
  }

  /** The instant of the unit at `place`, counted from the entry `first`. */
  #instantOf(place: number, first: number): number {
    let passed = 0;
    let index = first;
    for (; index < this.#length - 1; index += 1) {
      passed += this.#amount(index);
      if (passed > place) break;
    }
    return this.#atMs(index);
  }

  #place(index: number): number {
    const place = this.#head + index * FIELDS;
    return place < this.#entries.length ? place : place - this.#entries.length;
  }

  #atMs(index: number): number {
    return this.#entries[this.#place(index)]!;
  }

  #amount(index: number): number {
    return this.#entries[this.#place(index) + 1]!;
  }

  #reserved(index: number): number {
    return this.#entries[this.#place(index) + 2]!;
  }

  #remove(index: number): void {
    this.#length -= 1;
    if (index === this.#length) this.#newestFromMs = -Infinity;
    for (let to = index; to < this.#length; to += 1) {
      const from = this.#place(to + 1);
      this.#entries.copyWithin(this.#place(to), from, from + FIELDS);
    }
  }

  #expire(nowMs: number): void {
    while (this.#length > 0 && this.#atMs(0) <= nowMs - WINDOW_MS) {
      this.#used -= this.#amount(0);
      this.#head = this.#place(1);
      this.#length -= 1;
    }
  }
}
