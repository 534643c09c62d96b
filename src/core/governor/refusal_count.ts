/** How many calls were refused in the last hour, by the minute; it decides nothing. */
const MINUTE_MS = 60_000;
const MINUTES = 60;

export class RefusalCount {
  #counts = new Uint32Array(MINUTES);
  #minute = 0;

  note(nowMs: number): void {
    this.#turn(nowMs);
    const slot = this.#minute % MINUTES;
    this.#counts[slot] = this.#counts[slot]! + 1;
  }

  lastHour(nowMs: number): number {
    this.#turn(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #turn(nowMs: number): void {
    const minute = Math.max(this.#minute, Math.floor(nowMs / MINUTE_MS));
    const stale = Math.min(MINUTES, minute - this.#minute);
    for (let passed = 0; passed < stale; passed += 1) this.#counts[(minute - passed) % MINUTES] = 0;
    this.#minute = minute;
  }
}
