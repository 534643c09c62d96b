/**
 * Everything that will happen by the passing of time alone, in the order in which it is due: a
 * lease's deadline, the end of a waiter's budget, a pool's own next instant. One binary heap in
 * which each item knows its place, so that it can leave or move from the middle in O(log n).
 */
import { assert } from './assert.ts';

/** Something that is due at an instant. `place` belongs to the heap: -1 while not in it. */
export interface Timed {
  dueAtMs: number;
  place: number;
}

export class Due<T extends Timed> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The instant of the earliest item; Infinity where there is none. */
  get nextAtMs(): number {
    return this.#heap[0]?.dueAtMs ?? Infinity;
  }

  /** Puts the item in, or moves it to its new instant. Infinity takes it out. */
  set(item: T, dueAtMs: number): void {
    if (dueAtMs === Infinity) return this.remove(item);
    item.dueAtMs = dueAtMs;
    if (item.place < 0) {
      item.place = this.#heap.length;
      this.#heap.push(item);
    }
    this.#settle(item);
  }

  /** Takes the item out; does nothing where it is not in. */
  remove(item: T): void {
    const place = item.place;
    if (place < 0) return;
    assert(this.#heap[place] === item, 'a due item stands at its place');
    const last = this.#heap.pop() as T;
    item.place = -1;
    if (last === item) return;
    this.#heap[place] = last;
    last.place = place;
    this.#settle(last);
  }

  /** Takes out and returns the earliest item that is due by `nowMs`. */
  take(nowMs: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueAtMs > nowMs) return undefined;
    this.remove(first);
    return first;
  }

  /** Moves an item up or down until its parent is no later and its children are no earlier. */
  #settle(item: T): void {
    while (item.place > 0) {
      const parent = this.#heap[(item.place - 1) >> 1] as T;
      if (parent.dueAtMs <= item.dueAtMs) break;
      this.#swap(parent, item);
    }
    for (;;) {
      const left = this.#heap[2 * item.place + 1];
      const right = this.#heap[2 * item.place + 2];
      const child = right !== undefined && right.dueAtMs < (left as T).dueAtMs ? right : left;
      if (child === undefined || child.dueAtMs >= item.dueAtMs) return;
      this.#swap(item, child);
    }
  }

  /** Exchanges a parent with its child. */
  #swap(upper: T, lower: T): void {
    const place = upper.place;
    upper.place = lower.place;
    lower.place = place;
    this.#heap[upper.place] = upper;
    this.#heap[place] = lower;
  }
}
