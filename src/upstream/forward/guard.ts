/**
 * The one timer over all exchanges and tunnels: ten times a second each is looked at for having
 * stalled or taken too long. A timer of its own for each would cost more than the exchange.
 */
import type { Placed } from './roster.ts';
import { Roster } from './roster.ts';

const SWEEP_MS = 100;

export interface Watched extends Placed {
  /** Looks whether something is due. */
  look(nowMs: number): void;
}

export class Guard {
  readonly #nowMs: () => number;
  readonly #also: () => boolean;
  readonly #watched = new Roster<Watched>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** @param also is done at each sweep, too; whether it wants to be done again. */
  constructor(nowMs: () => number, also: () => boolean = () => false) {
    this.#nowMs = nowMs;
    this.#also = also;
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
    this.#timer ??= setTimeout(() => this.#sweep(), SWEEP_MS);
  }

  remove(watched: Watched): void {
    this.#watched.remove(watched);
  }

  #sweep(): void {
    const nowMs = this.#nowMs();
    for (const watched of this.#watched) watched.look(nowMs);
    const isWanted = this.#also() || this.#watched.size > 0;
    this.#timer = isWanted ? setTimeout(() => this.#sweep(), SWEEP_MS) : null;
  }
}
