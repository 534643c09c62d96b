/**
 * What the server keeps for the people who run it, beside what its callers need: the sessions of
 * the page, its charts and live events, and measures of the process.
 */
import { steadyEpochMsOf } from '../scheduler/clock.ts';
import { FailedLogins } from '../access/failed_logins.ts';
import { Sessions } from '../access/sessions.ts';
import { History } from '../scheduler/history.ts';
import { Lag } from '../scheduler/lag.ts';
import type { Timer } from '../scheduler/clock.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Store } from '../store/store.ts';
import { Watch } from './watch.ts';

const SESSIONS_MS = 60_000;

export interface DeskParts {
  readonly scheduler: Scheduler;
  readonly store: Store;
  readonly adminHash: string;
  /** Lower-case hex SHA-256 of the token that opens `/metrics` alone; null: there is none. */
  readonly metricsHash: string | null;
}

export class Desk {
  readonly metricsHash: string | null;
  readonly lag: Lag;
  readonly history: History;
  readonly sessions: Sessions;
  readonly failedLogins = new FailedLogins();
  readonly watch = new Watch();
  readonly #scheduler: Scheduler;
  #timer: Timer | null = null;

  constructor({ scheduler, store, adminHash, metricsHash }: DeskParts) {
    this.#scheduler = scheduler;
    this.metricsHash = metricsHash;
    this.lag = new Lag(scheduler.clock);
    this.history = new History(store, scheduler);
    this.sessions = new Sessions(store, adminHash);
  }

  /** @param createdAt when a pool was made, epoch ms. */
  async start(createdAt: (pool: string) => number): Promise<void> {
    await this.sessions.load();
    await this.history.load(createdAt);
    this.lag.start();
    this.history.start();
    this.#saveLater();
  }

  /** Lets viewers go, so that their streams do not hold up the end. */
  async stop(): Promise<void> {
    this.watch.close();
    this.lag.stop();
    this.#timer?.cancel();
    await this.history.close();
    await this.#saveSessions();
  }

  #saveLater(): void {
    this.#timer = this.#scheduler.clock.after(SESSIONS_MS, () => {
      void this.#saveSessions();
      this.#saveLater();
    });
  }

  async #saveSessions(): Promise<void> {
    const { clock } = this.#scheduler;
    await this.sessions.save(steadyEpochMsOf(clock)).catch(() => {});
  }
}
