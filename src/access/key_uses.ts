/**
 * When keys were last used. Reading the time for each use would cost every call some, and a call
 * takes its turn right after its key was found: the time of that turn is the use's.
 */

/** The last use of one key. */
export interface Use {
  /** The core's ms; null where it was told since, or there was none. */
  atMs: number | null;
  /** Whether a use waits for its time. */
  isFresh: boolean;
}

export class KeyUses {
  readonly #fresh: Use[] = [];

  note(use: Use): void {
    if (use.isFresh) return;
    use.isFresh = true;
    this.#fresh.push(use);
  }

  /** Gives what was used since the last call its time. */
  stamp(nowMs: number): void {
    for (let use = this.#fresh.pop(); use !== undefined; use = this.#fresh.pop()) {
      use.isFresh = false;
      use.atMs = nowMs;
    }
  }
}
