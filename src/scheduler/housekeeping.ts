/**
 * What a server does on the side, off the hot path and in small steps: folds the store's journal,
 * follows the wall clock, writes down when keys were used, and prunes the access logs.
 */
import { WINDOW_MS } from '../core/governor/rolling_window.ts';
import { log, messageOf } from '../log.ts';
import type { Retention, Store } from '../store/store.ts';
import { StoreError } from '../store/store.ts';
import { LOG_DEFAULTS } from '../wire.ts';
import type { Timer } from './clock.ts';
import { pause, steadyEpochMsOf } from './clock.ts';
import type { Directory } from './directory.ts';
import type { GovernorKeeper } from './governor_keeper.ts';
import { hasStartsToRestore } from './restore_starts.ts';
import type { Scheduler } from './scheduler.ts';

const FOLD_MS = 250;
const WALL_CLOCK_MS = 1000;
const USES_MS = 5000;
/** What was learned is saved at least this often while it changes. */
const LEARNED_MS = 2000;
const PRUNE_MS = 30_000;
/** Between two steps of one pruning, so that requests get their turn. */
const PRUNE_STEP_MS = 50;
const DAY_MS = 86_400_000;
const NEVER = Number.MAX_SAFE_INTEGER;

export interface HousekeepingParts {
  readonly scheduler: Scheduler;
  readonly directory: Directory;
  readonly governors: GovernorKeeper;
  readonly nonces: { prune(epochMs: number): void };
}

export class Housekeeping {
  readonly #store: Store;
  readonly #scheduler: Scheduler;
  readonly #directory: Directory;
  readonly #governors: GovernorKeeper;
  readonly #nonces: HousekeepingParts['nonces'];
  readonly #timers = new Map<string, Timer>();
  /** What was told of work that fails; it is told again only when that changes. */
  readonly #told = new Map<string, string>();
  #shiftMs: number;

  constructor(store: Store, parts: HousekeepingParts) {
    const { scheduler, directory, governors, nonces } = parts;
    this.#governors = governors;
    this.#nonces = nonces;
    this.#store = store;
    this.#scheduler = scheduler;
    this.#directory = directory;
    this.#shiftMs = scheduler.clock.shiftMs;
  }

  start(): void {
    this.#every('wall clock', WALL_CLOCK_MS, () => this.#followWallClock());
    this.#everyStored('fold', FOLD_MS, () => this.#store.foldMuch());
    this.#everyStored('key uses', USES_MS, () => this.#directory.saveUses());
    this.#everyStored('governors', LEARNED_MS, () => this.#governors.save());
    const { beatMs } = this.#store;
    if (beatMs !== null) this.#everyStored('beat', beatMs, () => this.#store.probe());
    this.#everyStored('pruning', PRUNE_MS, () => this.#prune());
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /**
   * Like {@link #every}, but not while the store fails: the journal tells of that, and asking the
   * store for more would only add noise.
   */
  #everyStored(name: string, everyMs: number, work: () => void | Promise<unknown>): void {
    this.#every(name, everyMs, () => this.#scheduler.journal.isFailing ? undefined : work());
  }

  /** Runs `work` again and again, `everyMs` after it was done. What fails is tried again. */
  #every(name: string, everyMs: number, work: () => void | Promise<unknown>): void {
    const run = async () => {
      try {
        await work();
        this.#told.delete(name);
      } catch (error) {
        const isBusy = error instanceof StoreError && error.kind === 'busy';
        if (!isBusy) this.#tell(name, messageOf(error));
      }
      if (this.#timers.has(name)) this.#every(name, everyMs, work);
    };
    this.#timers.set(name, this.#scheduler.clock.after(everyMs, () => void run()));
  }

  #tell(name: string, reason: string): void {
    if (this.#told.get(name) === reason) return;
    this.#told.set(name, reason);
    log.warn('{name} failed, and is tried again: {reason}', { name, reason });
  }

  #followWallClock(): void {
    const { clock } = this.#scheduler;
    clock.followWallClock();
    const { shiftMs } = clock;
    if (shiftMs === this.#shiftMs) return;
    log.warn('the wall clock moved by {ms} ms; leases are not affected', {
      ms: shiftMs - this.#shiftMs,
    });
    this.#shiftMs = shiftMs;
    this.#scheduler.restamp();
  }

  async #prune(): Promise<void> {
    const epochMs = this.#epochMs();
    this.#nonces.prune(epochMs);
    await this.#store.pruneNonces(epochMs);
    for (const pool of await this.#store.loggedPools()) {
      do {
        await pause(this.#scheduler.clock, PRUNE_STEP_MS);
        if (!this.#timers.has('pruning')) return;
      } while (await this.#store.pruneLog(this.#retentionOf(pool)));
    }
  }

  #retentionOf(pool: string): Retention {
    const spec = this.#directory.get(pool)?.spec;
    const { retentionDays, rowsMax } = spec?.log ?? LOG_DEFAULTS;
    const epochMs = this.#epochMs();
    const since = epochMs - retentionDays * DAY_MS;
    const sparedSince = spec && hasStartsToRestore(spec) ? epochMs - WINDOW_MS : NEVER;
    return { pool, rowsMax, since, sparedSince };
  }

  #epochMs(): number {
    return steadyEpochMsOf(this.#scheduler.clock);
  }
}
