/**
 * How many calls were refused in the last hour, counted by five minutes so that the state stays
 * small. It is for people to read; it decides nothing.
 */
const SPAN_MS = 300_000;
const SPANS = 12;

export class RefusalCount {
  #counts: number[] = [];
  #span = 0;

  note(nowMs: number): void {
    this.#turn(nowMs);
    const slot = this.#span % SPANS;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
  }

  lastHour(nowMs: number): number {
    this.#turn(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #turn(nowMs: number): void {
    const span = Math.max(this.#span, Math.floor(nowMs / SPAN_MS));
    if (this.#counts.length === 0) this.#counts = new Array<number>(SPANS).fill(0);
    const stale = Math.min(SPANS, span - this.#span);
    for (let passed = 0; passed < stale; passed += 1) this.#counts[(span - passed) % SPANS] = 0;
    this.#span = span;
  }
}
