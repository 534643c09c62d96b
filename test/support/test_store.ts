/**
 * A store in memory for tests: it keeps every batch, and its writes can be held back or made to
 * fail. What it keeps is there for the test to look at.
 */
import type { LogEntry } from '../../src/store/entry.ts';
import type {
  Batch,
  ChangeRow,
  GovernorRow,
  KeyChanges,
  KeyRow,
  LeaseRow,
  LogPage,
  PoolRow,
  Snapshot,
} from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store.ts';
import { EmptyStore } from './empty_store.ts';

export type Trouble = 'busy' | 'failed' | 'lost' | 'in doubt';

export class TestStore extends EmptyStore {
  /** Every batch that a commit was tried with. */
  readonly tried: Batch[] = [];
  readonly leases = new Map<string, LeaseRow>();
  readonly pools = new Map<string, PoolRow>();
  readonly keys = new Map<string, KeyRow>();
  readonly uses = new Map<string, number>();
  readonly governors = new Map<string, GovernorRow>();
  readonly changes: ChangeRow[] = [];
  readonly entries: LogEntry[] = [];
  /** What was written other than batches, in its order. */
  readonly written: string[] = [];
  fence = 0;
  trouble: Trouble | null = null;
  #isHeld = false;
  #held: (() => void)[] = [];

  /** From now on no write ends. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends the writes that were held back, and holds none any more. */
  letGo(): void {
    this.#isHeld = false;
    for (const go of this.#held.splice(0)) go();
  }

  override open(): Promise<Snapshot> {
    return Promise.resolve({
      pools: [...this.pools.values()],
      keys: [...this.keys.values()],
      leases: [...this.leases.values()],
      governors: [...this.governors.values()],
      fence: this.fence,
      attempt: 0,
      isNew: this.pools.size === 0,
    });
  }

  override commit(batch: Batch): Promise<void> {
    this.tried.push(batch);
    return this.#write(() => {
      for (const row of batch.leases) this.leases.set(row.slotId, row);
      for (const slotId of batch.ended) this.leases.delete(slotId);
      this.entries.push(...batch.entries);
      this.fence = batch.fence;
    });
  }

  override savePools(rows: readonly PoolRow[], keys?: KeyChanges): Promise<void> {
    return this.#write(() => {
      for (const row of rows) {
        this.written.push(`pool ${row.name}`);
        this.pools.set(row.name, row);
      }
      for (const { id } of keys?.removed ?? []) this.keys.delete(id);
      for (const row of keys?.saved ?? []) this.keys.set(row.id, row);
    });
  }

  override removePool(name: string): Promise<void> {
    return this.#write(() => {
      this.written.push(`no pool ${name}`);
      this.pools.delete(name);
    });
  }

  override saveKeys(rows: readonly KeyRow[]): Promise<void> {
    return this.#write(() => {
      for (const row of rows) this.keys.set(row.id, row);
    });
  }

  override removeKey(_pool: string, id: string): Promise<void> {
    return this.#write(() => void this.keys.delete(id));
  }

  override touchKeys(usedAt: ReadonlyMap<string, number>): Promise<void> {
    return this.#write(() => {
      for (const [id, atMs] of usedAt) this.uses.set(id, atMs);
    });
  }

  override saveGovernors(
    rows: readonly GovernorRow[],
    changes: readonly ChangeRow[],
  ): Promise<void> {
    return this.#write(() => {
      for (const row of rows) this.governors.set(row.pool, row);
      this.changes.push(...changes);
    });
  }

  override readChanges(pool: string, limit: number): Promise<ChangeRow[]> {
    const changes = this.changes.filter((row) => row.pool === pool);
    return Promise.resolve(changes.reverse().slice(0, limit));
  }

  async #write(apply: () => void): Promise<void> {
    if (this.#isHeld) await new Promise<void>((go) => this.#held.push(go));
    const { trouble } = this;
    if (trouble === null || trouble === 'in doubt') apply();
    if (trouble === null) return;
    throw new StoreError(trouble === 'in doubt' ? 'failed' : trouble, `The store is ${trouble}.`);
  }

  override fold(): Promise<void> {
    this.written.push('fold');
    return Promise.resolve();
  }

  override readLog(): Promise<LogPage> {
    return Promise.resolve({ entries: this.entries.toReversed(), nextCursor: null });
  }
}
