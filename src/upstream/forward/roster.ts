/**
 * Things that come and go all the time, each of which knows its place in one array. A Map or a Set
 * is made anew every few changes, and in old memory: whatever stood in the old one then lives on
 * until the next full collection, with all that it holds. Under load that was nearly every proxied
 * request, and each small collection took four times as long.
 */
import { assert } from '../../core/assert.ts';

/** `place` belongs to the roster: -1 while not in one. It may be in one at a time. */
export interface Placed {
  place: number;
}

export class Roster<T extends Placed> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    if (item.place >= 0) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Does nothing where it is not in. */
  remove(item: T): void {
    const { place } = item;
    if (place < 0) return;
    assert(this.#items[place] === item, 'an item stands at its place');
    const last = this.#items.pop() as T;
    item.place = -1;
    if (last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  /** Those that are in now and still are at their turn, in no order. */
  *[Symbol.iterator](): Iterator<T> {
    for (const item of [...this.#items]) if (item.place >= 0) yield item;
  }
}
