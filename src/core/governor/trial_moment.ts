/**
 * The moment in which one more in flight is tried: once no call started for as long as starts are
 * apart from each other with one more in flight. A try in the same moment as another start is
 * refused by an upstream that takes both but not at once, which looks like one too many.
 */

/** Calls may be long... */
const DISTANCE_MS_MAX = 30_000;
/** ...and where many start, one may come in each ms: so many distances are waited for at most. */
const DISTANCES_MAX = 8;

export class TrialMoment {
  #wantedAtMs = Infinity;
  /** Ms that starts are apart with one more in flight, as it was wanted last. */
  distanceMs = 0;
  #startedAtMs = -Infinity;

  /** When it comes if nothing starts before; Infinity where no trial is wanted. */
  get atMs(): number {
    const latestMs = this.#wantedAtMs + DISTANCES_MAX * this.distanceMs;
    return Math.min(latestMs, Math.max(this.#wantedAtMs, this.#startedAtMs) + this.distanceMs);
  }

  /** @param distanceMs 0 where the next start may well be the trial */
  want(nowMs: number, distanceMs: number): void {
    if (this.#wantedAtMs !== Infinity) return;
    this.#wantedAtMs = nowMs;
    this.distanceMs = Math.ceil(Math.min(DISTANCE_MS_MAX, distanceMs));
  }

  started(nowMs: number): void {
    this.#startedAtMs = nowMs;
  }

  drop(): void {
    this.#wantedAtMs = Infinity;
  }
}
