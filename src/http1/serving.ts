/**
 * All connections of callers: takes them in, looks after those that send nothing, and sees them to
 * their end. One timer for all of them.
 */
import type { Answering, Waiting } from './caller.ts';
import { Caller } from './caller.ts';
import type { Line } from './line.ts';

const SWEEP_MS = 1_000;
/** Sweeps that a head may take, from its first byte or the connection's beginning. */
const HEAD_SWEEPS_MAX = 30;
/** Sweeps that a connection may be kept without a request. */
const IDLE_SWEEPS_MAX = 600;
/** Sweeps that a caller may take for an answer that is there as a whole. */
const SENT_SWEEPS_MAX = 300;

const SWEEPS_MAX: Readonly<Record<Waiting, number>> = {
  idle: IDLE_SWEEPS_MAX,
  head: HEAD_SWEEPS_MAX,
  // Each door bounds for itself how long an answer may take.
  answer: Infinity,
  sent: SENT_SWEEPS_MAX,
};

export interface ServingOptions<Peer> extends Omit<Answering<Peer>, 'date'> {
  /** The time in epoch ms. */
  readonly epochMs: () => number;
}

export class Serving<Peer> {
  readonly #answering: Answering<Peer>;
  readonly #epochMs: () => number;
  /** With what resolves at the end of each. */
  readonly #callers = new Map<Caller<Peer>, Promise<void>>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #date = '';
  #isFinishing = false;

  constructor({ epochMs, ...answering }: ServingOptions<Peer>) {
    this.#epochMs = epochMs;
    this.#answering = { ...answering, date: () => this.#date };
  }

  /** Serves a connection to its end. */
  take(line: Line, peer: Peer): void {
    const caller = new Caller(line, peer, this.#answering);
    if (this.#isFinishing) caller.answerOnce();
    const run = caller.run().then(() => void this.#callers.delete(caller));
    this.#callers.set(caller, run);
    if (this.#timer === null) this.#sweep();
  }

  /**
   * Answers what is under way, resolves when that is done, and closes what is idle. Who comes
   * meanwhile gets one answer, and is not waited for.
   */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    for (const caller of this.#callers.keys()) caller.finish();
    await Promise.all(this.#callers.values());
  }

  /** How many callers wait for an answer. */
  get underWay(): number {
    return [...this.#callers.keys()].filter(({ isAsked }) => isAsked).length;
  }

  #sweep(): void {
    this.#date = `date: ${new Date(this.#epochMs()).toUTCString()}\r\n`;
    for (const caller of this.#callers.keys()) {
      if (++caller.sweeps > SWEEPS_MAX[caller.waiting]) caller.close();
    }
    this.#timer = this.#callers.size === 0 ? null : setTimeout(() => this.#sweep(), SWEEP_MS);
  }
}
