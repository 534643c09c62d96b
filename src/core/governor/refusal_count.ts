/**
 * How many calls were refused in the last hour, counted by five minutes so that the state stays
 * small. It is for people to read; it decides nothing.
 */
import type { RefusalsCounted } from './governor.ts';

const SPAN_MS = 300_000;
const SPANS = 12;

export class RefusalCount {
  #counts: number[] = [];
  #span = 0;

  note(nowMs: number): void {
    this.#add(nowMs, 1);
  }

  /** What counts now; undefined where nothing does. */
  save(nowMs: number): RefusalsCounted[] | undefined {
    if (this.lastHour(nowMs) === 0) return undefined;
    return Array.from({ length: SPANS }, (_, at) => this.#span - SPANS + 1 + at)
      .map((span) => [span * SPAN_MS, this.#counts[span % SPANS] ?? 0] as const)
      .filter(([, count]) => count > 0);
  }

  /** Goes on from what an earlier process saved. */
  seed(nowMs: number, saved: readonly RefusalsCounted[]): void {
    for (const [atMs, count] of saved) {
      if (nowMs - atMs < SPANS * SPAN_MS) this.#add(Math.min(atMs, nowMs), count);
    }
  }

  lastHour(nowMs: number): number {
    this.#turn(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #add(nowMs: number, count: number): void {
    this.#turn(nowMs);
    const slot = this.#span % SPANS;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + count;
  }

  #turn(nowMs: number): void {
    const span = Math.max(this.#span, Math.floor(nowMs / SPAN_MS));
    if (this.#counts.length === 0) this.#counts = new Array<number>(SPANS).fill(0);
    const stale = Math.min(SPANS, span - this.#span);
    for (let passed = 0; passed < stale; passed += 1) this.#counts[(span - passed) % SPANS] = 0;
    this.#span = span;
  }
}
