/**
 * A pool's bounded line of waiting acquires, first come first served. A linked list, since waiters
 * leave from the middle all the time (their budget ends, their caller hangs up) and each must go in
 * O(1), leaving nothing behind.
 */
import type { Ask } from './ask.ts';
import { assert } from './assert.ts';

/** One waiting acquire. It is in its queue and in the due heap, or in neither. */
export interface Waiter {
  readonly kind: 'waiter';
  readonly pool: string;
  readonly ask: Ask;
  readonly joinedAtMs: number;
  /** The end of its budget, and its place in the due heap. */
  dueAtMs: number;
  place: number;
  /** Neighbours in the queue, kept by it alone. */
  before: Waiter | null;
  after: Waiter | null;
  isQueued: boolean;
}

export class Queue {
  #first: Waiter | null = null;
  #last: Waiter | null = null;
  #length = 0;
  #most = 0;

  get length(): number {
    return this.#length;
  }

  /** The most that waited at once since this was asked last, and never fewer than do now. */
  takeMost(): number {
    const most = this.#most;
    this.#most = this.#length;
    return most;
  }

  get head(): Waiter | null {
    return this.#first;
  }

  join(waiter: Waiter): void {
    assert(!waiter.isQueued, 'a waiter joins once');
    waiter.before = this.#last;
    if (this.#last === null) this.#first = waiter;
    else this.#last.after = waiter;
    this.#last = waiter;
    waiter.isQueued = true;
    this.#length++;
    if (this.#length > this.#most) this.#most = this.#length;
  }

  leave(waiter: Waiter): void {
    assert(waiter.isQueued, 'a waiter leaves once');
    if (waiter.before === null) this.#first = waiter.after;
    else waiter.before.after = waiter.after;
    if (waiter.after === null) this.#last = waiter.before;
    else waiter.after.before = waiter.before;
    waiter.before = waiter.after = null;
    waiter.isQueued = false;
    this.#length--;
    assert((this.#length === 0) === (this.#first === null), 'an empty queue has no head');
  }

  /** From the head on. A waiter that was just given may leave during the walk. */
  *[Symbol.iterator](): IterableIterator<Waiter> {
    for (let waiter = this.#first; waiter !== null;) {
      const after: Waiter | null = waiter.after;
      yield waiter;
      waiter = after;
    }
  }
}
