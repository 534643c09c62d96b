/**
 * What callers import as `nthbouncer/client`: a pool of a server, from which slots are acquired.
 * It has no dependency and runs wherever `fetch` is: Node, Deno and Bun.
 */
import type { AcquireOptions } from './acquire.ts';
import { acquire } from './acquire.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { Slot } from './slot.ts';
import type { TransportOptions } from './transport.ts';
import { Transport } from './transport.ts';

export type { AcquireOptions } from './acquire.ts';
export type { ClientCode, LossCause } from './failure.ts';
export { BadAnswer, NthbouncerError, Refused, SlotLost, Unreachable } from './failure.ts';
export type { Report } from './report.ts';
export type { Slot } from './slot.ts';

export interface ConnectOptions extends TransportOptions {
  /** For tests. */
  readonly clock?: Clock;
  /** 0 to 1, for jitter. */
  readonly random?: () => number;
}

/** A pool of a server. Nothing is sent before the first acquire. @throws TypeError */
export function connect(options: ConnectOptions): Pool {
  return new Pool(options);
}

export class Pool {
  readonly #parts: { transport: Transport; clock: Clock; random: () => number };

  constructor(options: ConnectOptions) {
    const { clock = systemClock, random = randomShare } = options;
    this.#parts = { transport: new Transport(options, clock), clock, random };
  }

  /**
   * A slot, which renews itself until it is released:
   * `await using slot = await pool.acquire({ waitMs: 5_000 })`.
   * @throws Refused, Unreachable, BadAnswer, or the reason of the options' signal.
   */
  acquire(options: AcquireOptions = {}): Promise<Slot> {
    return acquire(this.#parts, options);
  }

  /**
   * Acquires a slot, works, and releases it with what the work reported. Work that fails without a
   * report is reported as failed, so that it teaches nothing. A release that is refused is told by
   * a warning of the process: the work's result, or its error, is what the caller gets.
   */
  async run<T>(work: (slot: Slot) => T | Promise<T>, options: AcquireOptions = {}): Promise<T> {
    const slot = await this.acquire(options);
    try {
      const result = await work(slot);
      await slot[Symbol.asyncDispose]();
      return result;
    } catch (error) {
      await slot.abandon().catch(() => {});
      throw error;
    }
  }
}

function randomShare(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;
}
