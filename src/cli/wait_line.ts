/**
 * The one line on a terminal that says for how long somebody has waited, and in which place of the
 * queue. Elsewhere it says nothing.
 */
import { shownMs } from './duration.ts';

const encoder = new TextEncoder();
/** Nobody needs to be told of a wait that is over at once. */
const QUIET_MS = 200;

export class WaitLine {
  readonly #pool: string;
  readonly #waitMs: number;
  readonly #sinceMs = performance.now();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #place: number | null = null;
  #isDrawn = false;

  constructor(pool: string, waitMs: number) {
    this.#pool = pool;
    this.#waitMs = waitMs;
    if (waitMs === 0 || !Deno.stderr.isTerminal()) return;
    this.#timers.push(setTimeout(() => this.#draw(), QUIET_MS));
    this.#timers.push(setInterval(() => this.#draw(), 1_000));
  }

  /** Whether anybody reads it. */
  get isShown(): boolean {
    return this.#timers.length > 0;
  }

  /** @param place from 1. */
  stands(place: number): void {
    this.#place = place;
    this.#draw();
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#isDrawn) write('\r\x1b[K');
  }

  #draw(): void {
    this.#isDrawn = true;
    const place = this.#place === null ? '' : `, number ${this.#place} in the queue`;
    const waited = `${shownMs(performance.now() - this.#sinceMs)} of ${shownMs(this.#waitMs)}`;
    write(`\r\x1b[Knthbouncer: waiting for a slot of ${this.#pool}${place}, ${waited}`);
  }
}

function write(text: string): void {
  Deno.stderr.writeSync(encoder.encode(text));
}
