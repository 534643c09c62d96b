/**
 * The one line on a terminal that says for how long and behind how many somebody waits. Elsewhere
 * it says nothing.
 */
import type { Pool, Slot } from '../client/client.ts';
import { Refused } from '../client/client.ts';
import { shownMs } from './duration.ts';

const encoder = new TextEncoder();

export class WaitLine {
  readonly #pool: string;
  readonly #waitMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(pool: string, waitMs: number) {
    this.#pool = pool;
    this.#waitMs = waitMs;
  }

  /** Acquires; on a terminal it asks without waiting first, to learn how long the queue is. */
  async acquire(pool: Pool, ask: NonNullable<Parameters<Pool['acquire']>[0]>): Promise<Slot> {
    if (this.#waitMs === 0 || !Deno.stderr.isTerminal()) return await pool.acquire(ask);
    try {
      return await pool.acquire({ ...ask, waitMs: 0 });
    } catch (error) {
      const isNo = error instanceof Refused && error.status < 429;
      if (isNo || ask.signal?.aborted) throw error;
      this.#show(error instanceof Refused ? error.queueDepth : undefined);
    }
    return await pool.acquire(ask);
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    write('\r\x1b[K');
  }

  #show(ahead: number | undefined): void {
    const sinceMs = performance.now();
    const place = ahead === undefined ? '' : `, joined as number ${ahead + 1} in the queue`;
    const draw = () => {
      const waited = `${shownMs(performance.now() - sinceMs)} of ${shownMs(this.#waitMs)}`;
      write(`\r\x1b[Knthbouncer: waiting for a slot of ${this.#pool}${place}, ${waited}`);
    };
    draw();
    this.#timer = setInterval(draw, 1_000);
  }
}

function write(text: string): void {
  Deno.stderr.writeSync(encoder.encode(text));
}
