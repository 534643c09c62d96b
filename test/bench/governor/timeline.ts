/**
 * The virtual clock: a binary heap of what happens when. Things due at the same instant happen in
 * the order in which they were planned, so a run depends on its seed alone.
 */
interface Planned {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
}

export class Timeline {
  nowMs = 0;
  #heap: Planned[] = [];
  #order = 0;

  plan(atMs: number, act: () => void): void {
    const heap = this.#heap;
    const item: Planned = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, act };
    let index = heap.length;
    heap.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(item, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = item;
  }

  run(untilMs: number): void {
    for (let next = this.#heap[0]; next && next.atMs < untilMs; next = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = next.atMs;
      next.act();
    }
    this.nowMs = untilMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(left: Planned, right: Planned): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}
