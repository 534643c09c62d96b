/**
 * Keeps what the governors learn: stores it each time that it is asked and it changed, with every
 * change that they made, and gives it back to the next process. What is lost in a crash is the
 * learning of the last seconds, never a rule.
 */
import type { Change } from '../core/governor/governor.ts';
import type { Pool } from '../core/pool.ts';
import type { ChangeRow, GovernorRow, Store } from '../store/store.ts';
import { shifted } from './saved.ts';
import type { Scheduler } from './scheduler.ts';

/** Changes that wait for the store; beyond these they stay with the governors, which bound them. */
const UNSAVED_MAX = 10_000;

export class GovernorKeeper {
  readonly #store: Store;
  readonly #scheduler: Scheduler;
  /** What was stored last of each pool. A later pool of a name is another. */
  readonly #stored = new WeakMap<Pool, string>();
  /** Changes that are not stored yet. */
  #unsaved: { readonly pool: Pool; readonly row: ChangeRow }[] = [];
  #last: Promise<unknown> = Promise.resolve();
  /** The save that waits for the one under way. */
  #next: Promise<void> | null = null;

  constructor(store: Store, scheduler: Scheduler) {
    this.#store = store;
    this.#scheduler = scheduler;
  }

  /**
   * Stores what is new since the last call; what fails is stored by the next. One write at a time:
   * whoever asks while another is under way shares the one that comes after it.
   */
  save(): Promise<void> {
    if (this.#next !== null) return this.#next;
    const next = this.#last.then(() => {
      this.#next = null;
      return this.#write();
    });
    this.#next = next;
    this.#last = next.catch(() => {});
    return next;
  }

  async #write(): Promise<void> {
    const { clock, pools, isDraining } = this.#scheduler;
    const nowMs = clock.nowMs();
    const rows: GovernorRow[] = [];
    const seen: (readonly [Pool, string])[] = [];
    this.#unsaved = this.#unsaved.filter(({ pool }) => pools.get(pool.name) === pool);
    for (const pool of pools.values()) {
      const { name, governor } = pool;
      if (this.#unsaved.length < UNSAVED_MAX) {
        for (const change of governor.drainChanges()) {
          this.#unsaved.push({ pool, row: changeRow(name, change, clock.shiftMs) });
        }
      }
      const saved = shifted(governor.save(nowMs, isDraining), clock.shiftMs);
      const learned = JSON.stringify({ ...saved, atMs: 0 });
      if (this.#stored.get(pool) === learned) continue;
      seen.push([pool, learned]);
      rows.push({ pool: name, saved: JSON.stringify(saved) });
    }
    const changes = this.#unsaved.map(({ row }) => row);
    if (rows.length > 0 || changes.length > 0) await this.#store.saveGovernors(rows, changes);
    this.#unsaved = [];
    for (const [pool, learned] of seen) this.#stored.set(pool, learned);
  }
}

function changeRow(pool: string, change: Change, shiftMs: number): ChangeRow {
  const { atMs, ...rest } = change;
  return { pool, at: atMs + shiftMs, ...rest };
}
