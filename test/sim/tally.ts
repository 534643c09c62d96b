/**
 * Counts what a simulation exercised, by name, so that a run that exercised nothing is seen.
 */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #hear: (name: string) => void;

  /** @param hear is told each name at once, for following a single run. */
  constructor(hear: (name: string) => void = () => {}) {
    this.#hear = hear;
  }

  note(name: string, times = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + times);
    this.#hear(name);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(other: Tally): void {
    for (const [name, times] of other.#counts) this.note(name, times);
  }

  /** One line a name, in the order of the alphabet. */
  lines(): string[] {
    return [...this.#counts].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, times]) => `${String(times).padStart(9)}  ${name}`);
  }
}
