/**
 * The changes that a governor made and its host has not stored yet. It is bounded: a host that
 * never drains loses the oldest.
 */
import type { Change } from './governor.ts';

const CHANGES_MAX = 64;

export class ChangeLog {
  #changes: Change[] = [];

  add(change: Change): void {
    if (this.#changes.length >= CHANGES_MAX) this.#changes.shift();
    this.#changes.push(change);
  }

  drain(): readonly Change[] {
    const drained = this.#changes;
    if (drained.length > 0) this.#changes = [];
    return drained;
  }
}
