/**
 * The live leases of a pool by their slotId, the oldest first. Its map holds numbers alone: a Map
 * in which leases came and went is made anew every few changes, in old memory, and each lease that
 * stood in the old one then lives on until the next full collection.
 */
import type { Lease } from './lease.ts';

export class Leases {
  readonly #places = new Map<string, number>();
  readonly #leases: (Lease | null)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  has(slotId: string): boolean {
    return this.#places.has(slotId);
  }

  get(slotId: string): Lease | undefined {
    const place = this.#places.get(slotId);
    return place === undefined ? undefined : this.#leases[place] as Lease;
  }

  *values(): Generator<Lease> {
    for (const place of this.#places.values()) yield this.#leases[place] as Lease;
  }

  add(lease: Lease): void {
    const place = this.#free.pop() ?? this.#leases.length;
    this.#leases[place] = lease;
    this.#places.set(lease.slotId, place);
  }

  remove({ slotId }: Lease): void {
    const place = this.#places.get(slotId);
    if (place === undefined) return;
    this.#places.delete(slotId);
    this.#leases[place] = null;
    this.#free.push(place);
  }
}
