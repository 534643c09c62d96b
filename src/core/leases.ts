/**
 * The live leases of a pool by their slotId, the oldest first. They are found by a number made of
 * their id's first characters, which are random: a Map of texts that are each asked for once or
 * twice looks every one of them up among all texts of the process (3 % of it at 64 busy callers).
 * The map holds numbers alone: one in which leases came and went is made anew every few changes, in
 * old memory, and each lease that stood in the old one lives on until the next full collection.
 */
import type { Lease } from './lease.ts';

/** So many characters, of 6 bits each, make a number that takes no memory of its own. */
const HASHED = 5;
const NONE = -1;

export class Leases {
  /** For each number that an id gives, the place of the last lease that came with it. */
  readonly #last = new Map<number, number>();
  readonly #leases: (Lease | null)[] = [];
  /** For each place that of the lease before it with the same number, or NONE. */
  readonly #before: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#leases.length - this.#free.length;
  }

  has(slotId: string): boolean {
    return this.#find(slotId) !== NONE;
  }

  get(slotId: string): Lease | undefined {
    const place = this.#find(slotId);
    return place === NONE ? undefined : this.#leases[place] as Lease;
  }

  values(): Lease[] {
    return this.#leases.filter((lease) => lease !== null).sort((a, b) => a.fence - b.fence);
  }

  /** False where its id is there already, which changes nothing. */
  add(lease: Lease): boolean {
    if (this.has(lease.slotId)) return false;
    const place = this.#free.pop() ?? this.#leases.length;
    const hash = hashOf(lease.slotId);
    this.#leases[place] = lease;
    this.#before[place] = this.#last.get(hash) ?? NONE;
    this.#last.set(hash, place);
    return true;
  }

  /** False where it is not there, which changes nothing. */
  remove(lease: Lease): boolean {
    const place = this.#find(lease.slotId);
    if (place === NONE || this.#leases[place] !== lease) return false;
    const before = this.#before[place] as number;
    const hash = hashOf(lease.slotId);
    let after = this.#last.get(hash) as number;
    if (after === place) {
      if (before === NONE) this.#last.delete(hash);
      else this.#last.set(hash, before);
    } else {
      while (this.#before[after] !== place) after = this.#before[after] as number;
      this.#before[after] = before;
    }
    this.#leases[place] = null;
    this.#free.push(place);
    return true;
  }

  #find(slotId: string): number {
    let place = this.#last.get(hashOf(slotId)) ?? NONE;
    while (place !== NONE && (this.#leases[place] as Lease).slotId !== slotId) {
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
