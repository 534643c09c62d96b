/**
 * A lock of another process, a backup say, is waited out: no request fails because of one that is
 * short. The journal waits by itself, since what comes meanwhile goes into its next try; for all
 * other calls of the store it is done here. One call at a time tries again, since each try holds
 * the thread up for some ms, and a lock that was not waited out is waited for by nobody else.
 */
import type { Store } from '../store/store.ts';
import { StoreError } from '../store/store.ts';
import { type Clock, pause } from './clock.ts';

/** How long a lock is waited out before the store counts as failing. */
export const BUSY_MS_MAX = 1000;
export const BUSY_RETRY_MS = 10;

/** What must not be tried again here: it ends the store, or is tried again by whoever calls it. */
const AT_ONCE: ReadonlySet<string> = new Set<keyof Store>([
  'open',
  'commit',
  'fold',
  'foldMuch',
  'close',
]);

type Call = (...args: unknown[]) => Promise<unknown>;

/** The store, whose calls wait out a short lock. */
export function patient(store: Store, clock: Clock): Store {
  const patience = new Patience(clock);
  return new Proxy(store, {
    get: (_, name: string) => {
      const member: unknown = store[name as keyof Store];
      if (typeof member !== 'function') return member;
      const call = member.bind(store) as Call;
      if (AT_ONCE.has(name)) return call;
      return (...args: unknown[]) => patience.tried(() => call(...args));
    },
  });
}

class Patience {
  readonly #clock: Clock;
  /** Of the lock that was met last; a call that does not meet it ends it, and so does a time. */
  #sinceMs = -Infinity;
  #metAtMs = -Infinity;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async tried(work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await this.#try(work);
    } catch (error) {
      if (!this.#mayWait(error)) throw error;
    }
    const turn = this.#last.then(() => this.#tryAgain(work));
    this.#last = turn.catch(() => {});
    return await turn;
  }

  async #tryAgain(work: () => Promise<unknown>): Promise<unknown> {
    for (;;) {
      try {
        return await this.#try(work);
      } catch (error) {
        if (!this.#mayWait(error)) throw error;
        await pause(this.#clock, BUSY_RETRY_MS);
      }
    }
  }

  async #try(work: () => Promise<unknown>): Promise<unknown> {
    const done = await work();
    this.#metAtMs = -Infinity;
    return done;
  }

  #mayWait(error: unknown): boolean {
    if (!(error instanceof StoreError) || error.kind !== 'busy') return false;
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#metAtMs > BUSY_MS_MAX) this.#sinceMs = nowMs;
    this.#metAtMs = nowMs;
    return nowMs - this.#sinceMs < BUSY_MS_MAX;
  }
}
