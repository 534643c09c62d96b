/**
 * The callers behind the core's waiters: each has one promise, told once, and a signal by which it
 * is known to be gone. Whoever takes a waiter out of here must tell it.
 */
import type { Ask } from '../core/ask.ts';
import type { Waiter } from '../core/queue.ts';
import type { Caller, Verdict } from './verdict.ts';

/** Whether whoever asked is still there to be told. */
export interface Presence {
  readonly isGone: boolean;
  /** Asked for only by an acquire that waits, since touching a request's signal is dear. */
  readonly signal: AbortSignal;
}

/** What an acquire asks, and for whom. */
export interface Request extends Omit<Ask, 'attempt'>, Caller {
  /** The fingerprint of the secret that signed it, as long as that matters. */
  readonly signer: string | null;
  readonly presence: Presence;
}

/** The same on its way, with its id in the access log. */
export interface Attempt extends Request, Ask {}

export interface Waiting {
  readonly attempt: Attempt;
  readonly tell: (verdict: Verdict | Promise<Verdict>) => void;
}

export class Waiters {
  readonly #waiting = new Map<Waiter, Waiting>();

  wait(waiter: Waiter, attempt: Attempt, withdraw: (waiter: Waiter) => void): Promise<Verdict> {
    return new Promise((resolve) => {
      const { signal } = attempt.presence;
      const gone = () => withdraw(waiter);
      const tell = (verdict: Verdict | Promise<Verdict>) => {
        signal.removeEventListener('abort', gone);
        resolve(verdict);
      };
      this.#waiting.set(waiter, { attempt, tell });
      signal.addEventListener('abort', gone);
      if (signal.aborted) gone();
    });
  }

  /** Takes the caller out; undefined where it was told already. */
  take(waiter: Waiter): Waiting | undefined {
    const waiting = this.#waiting.get(waiter);
    this.#waiting.delete(waiter);
    return waiting;
  }

  /** Those that wait now of whom something is told, in the order in which they came. */
  told<T>(of: (attempt: Attempt, pool: string) => T | null): [Waiter, T][] {
    return [...this.#waiting].flatMap(([waiter, { attempt }]): [Waiter, T][] => {
      const told = of(attempt, waiter.pool);
      return told === null ? [] : [[waiter, told]];
    });
  }
}
