/**
 * Where a waiting acquire stands in the queue: a repeat under its key that will not wait is told.
 * Should the wait have ended just then, the repeat may be granted a slot; it is given back unless
 * the wait itself brought it.
 */
import type { Clock } from './clock.ts';
import { Refused } from './failure.ts';
import type { Transport } from './transport.ts';
import { grantOf } from './transport.ts';
import { callBack } from './warning.ts';

const EVERY_MS = 2_000;
const FIRST_MS = 200;
const LIMIT_MS = 5_000;

export interface PlaceParts {
  readonly transport: Transport;
  readonly clock: Clock;
  /** The Idempotency-Key of the acquire. */
  readonly key: string;
  /** What the acquire asks for, but for the wait. */
  readonly body: unknown;
  readonly onPlace: (place: number) => void;
}

export class PlaceWatch {
  readonly #parts: PlaceParts;
  #cancel: () => void;
  #isOver = false;
  /** The slot that the wait brought. */
  #held: string | null = null;
  /** A slot that a repeat was told of while the wait went on. */
  #found: string | null = null;

  constructor(parts: PlaceParts) {
    this.#parts = parts;
    this.#cancel = parts.clock.after(FIRST_MS, () => void this.#ask(), true);
  }

  /** The wait is over, with this slot or none. */
  end(held: string | null): void {
    this.#isOver = true;
    this.#held = held;
    this.#cancel();
    this.#giveBack();
  }

  async #ask(): Promise<void> {
    const { transport, clock, key, body, onPlace } = this.#parts;
    const headers = { 'idempotency-key': key, 'x-nthpool-no-queue': '1' };
    try {
      const answer = await transport.post({ path: 'acquire', body, headers, limitMs: LIMIT_MS });
      this.#found = grantOf(answer).slotId;
      if (this.#isOver) this.#giveBack();
      return;
    } catch (error) {
      if (this.#isOver) return;
      const place = error instanceof Refused ? error.place : undefined;
      if (place !== undefined) callBack('onPlace', () => onPlace(place));
    }
    this.#cancel = clock.after(EVERY_MS, () => void this.#ask(), true);
  }

  #giveBack(): void {
    const stray = this.#found;
    if (stray === null || stray === this.#held) return;
    this.#found = null;
    void this.#parts.transport.giveBack(stray);
  }
}
