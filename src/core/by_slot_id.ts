/**
 * What is found by a slotId: a Map for texts that are made, asked for once or twice, and forgotten.
 * A Map looks each of its texts up among all of the process (6 % of a busy server's time); here
 * a number is made of the id's first characters, which are random. What is kept stands beside the
 * map: one in which objects came and went is made anew every few changes, in old memory, and each
 * object that stood in the old one then lives on until the next full collection.
 */

/** So many characters, of 6 bits each, make a number that takes no memory of its own. */
const HASHED = 5;
const NONE = -1;

export interface Slotted {
  readonly slotId: string;
  readonly fence: number;
}

export class BySlotId<T extends Slotted> {
  /** For each number that an id gives, the place of the last item that came with it. */
  readonly #last = new Map<number, number>();
  readonly #items: (T | null)[] = [];
  /** For each place that of the item before it with the same number, or NONE. */
  readonly #before: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#items.length - this.#free.length;
  }

  has(slotId: string): boolean {
    return this.#placeOf(slotId) !== NONE;
  }

  get(slotId: string): T | undefined {
    const place = this.#placeOf(slotId);
    return place === NONE ? undefined : this.#items[place] as T;
  }

  /** The oldest grant first. */
  values(): T[] {
    return this.#items.filter((item) => item !== null).sort((a, b) => a.fence - b.fence);
  }

  /** Puts it in, in the place of one that has its id. */
  set(item: T): void {
    const known = this.#placeOf(item.slotId);
    if (known !== NONE) {
      this.#items[known] = item;
      return;
    }
    const place = this.#free.pop() ?? this.#items.length;
    const hash = hashOf(item.slotId);
    this.#items[place] = item;
    this.#before[place] = this.#last.get(hash) ?? NONE;
    this.#last.set(hash, place);
  }

  /** False where it was not there. */
  delete(slotId: string): boolean {
    const place = this.#placeOf(slotId);
    if (place === NONE) return false;
    const before = this.#before[place] as number;
    const hash = hashOf(slotId);
    let after = this.#last.get(hash) as number;
    if (after !== place) {
      while (this.#before[after] !== place) after = this.#before[after] as number;
      this.#before[after] = before;
    } else if (before === NONE) this.#last.delete(hash);
    else this.#last.set(hash, before);
    this.#items[place] = null;
    this.#free.push(place);
    return true;
  }

  #placeOf(slotId: string): number {
    let place = this.#last.get(hashOf(slotId)) ?? NONE;
    while (place !== NONE && (this.#items[place] as T).slotId !== slotId) {
      place = this.#before[place] as number;
    }
    return place;
  }
}

function hashOf(slotId: string): number {
  let hash = 0;
  for (let at = 0; at < HASHED && at < slotId.length; at++) {
    hash = hash << 6 | slotId.charCodeAt(at) & 63;
  }
  return hash;
}
