/**
 * Keeps what the governors learn: stores it a few times a minute where it changed, with every
 * change that they made, and gives it back to the next process. What is lost in a crash is the
 * learning of the last seconds, never a rule.
 */
import type { Change } from '../core/governor/governor.ts';
import type { ChangeRow, GovernorRow, Store } from '../store/store.ts';
import { shifted } from './saved.ts';
import type { Scheduler } from './scheduler.ts';

/** Changes that wait for the store; beyond these they stay with the governors, which bound them. */
const UNSAVED_MAX = 10_000;

export class GovernorKeeper {
  readonly #store: Store;
  readonly #scheduler: Scheduler;
  /** What was stored last, by pool; pools that are gone are dropped at the next save. */
  #stored = new Map<string, string>();
  /** Changes that are not stored yet. */
  #unsaved: ChangeRow[] = [];
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
    const seen = new Map<string, string>();
    this.#unsaved = this.#unsaved.filter(({ pool }) => pools.has(pool));
    for (const { name, governor } of pools.values()) {
      if (this.#unsaved.length < UNSAVED_MAX) {
        for (const change of governor.drainChanges()) {
          this.#unsaved.push(changeRow(name, change, clock.shiftMs));
        }
      }
      const saved = shifted(governor.save(nowMs, isDraining), clock.shiftMs);
      const learned = JSON.stringify({ ...saved, atMs: 0 });
      seen.set(name, learned);
      if (this.#stored.get(name) !== learned) {
        rows.push({ pool: name, saved: JSON.stringify(saved) });
      }
    }
    const changes = this.#unsaved;
    if (rows.length > 0 || changes.length > 0) await this.#store.saveGovernors(rows, changes);
    this.#unsaved = [];
    this.#stored = seen;
  }
}

function changeRow(pool: string, change: Change, shiftMs: number): ChangeRow {
  const { atMs, ...rest } = change;
  return { pool, at: atMs + shiftMs, ...rest };
}
