/**
 * How fast a full pool's slots come free: so many leases, each held for so long on the average, end
 * at that rate. How long slots are held says it also where nobody wanted one for a while, which the
 * time between releases does not. It only estimates the retry hint of a full pool; nothing is
 * decided by it.
 */
const WEIGHT = 0.2;
const UNKNOWN_MS = 1000;
const HINT_MS_MAX = 60_000;

export class Pace {
  #heldMs: number | null = null;

  /** A lease ended that was held for so long. */
  note(heldMs: number): void {
    this.#heldMs = this.#heldMs === null ? heldMs : this.#heldMs + WEIGHT * (heldMs - this.#heldMs);
  }

  /**
   * Estimated ms until a slot is free for a caller with `ahead` others before it: 1 to 60 000.
   * @param leases how many are held now.
   */
  waitMs(ahead: number, leases: number): number {
    if (this.#heldMs === null) return UNKNOWN_MS;
    const waitMs = Math.ceil(this.#heldMs * (ahead + 1) / Math.max(1, leases));
    return Math.max(1, Math.min(HINT_MS_MAX, waitMs));
  }
}
