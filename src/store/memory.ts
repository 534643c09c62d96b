/**
 * A store in memory, which keeps the contract except that it forgets all when the process ends.
 * Opening it again stands for a restart. It has no faults and no hooks: tests wrap it for those.
 */
import { CHANGES_KEPT } from '../core/governor/governor.ts';
import type { LogEntry } from './entry.ts';
import {
  type Batch,
  type ChangeRow,
  type GovernorRow,
  type HistoryRow,
  isLogCursor,
  type KeyChanges,
  type KeyRow,
  type LeaseRow,
  type LogPage,
  type LogQuery,
  type NonceRow,
  type PoolRow,
  type Retention,
  type SessionRow,
  type Snapshot,
  type Store,
} from './store.ts';

interface Numbered {
  readonly number: number;
  readonly entry: LogEntry;
}

export class MemoryStore implements Store {
  readonly #pools = new Map<string, PoolRow>();
  /** By pool, then by id. */
  readonly #keys = new Map<string, Map<string, KeyRow>>();
  readonly #values = new Map<string, string>();
  readonly #governors = new Map<string, string>();
  /** By pool, oldest first. */
  readonly #changes = new Map<string, ChangeRow[]>();
  readonly #sessions = new Map<string, SessionRow>();
  readonly #history = new Map<string, HistoryRow>();
  readonly #leases = new Map<string, LeaseRow>();
  /** By pool and nonce. */
  readonly #nonces = new Map<string, NonceRow>();
  /** By pool, oldest first. */
  readonly #log = new Map<string, Numbered[]>();
  #fence = 0;
  #attempt = 0;
  #logged = 0;
  #isNew = true;

  open(): Promise<Snapshot> {
    for (const lease of this.#leases.values()) {
      if (!this.#pools.has(lease.pool)) this.#leases.delete(lease.slotId);
    }
    const snapshot: Snapshot = {
      pools: [...this.#pools.values()].sort((a, b) => a.name < b.name ? -1 : 1),
      keys: [...this.#keys.values()].flatMap((keys) => [...keys.values()]),
      leases: [...this.#leases.values()],
      governors: [...this.#governors].map(([pool, saved]) => ({ pool, saved })),
      fence: this.#fence,
      attempt: this.#attempt,
      isNew: this.#isNew,
    };
    this.#isNew = false;
    return Promise.resolve(snapshot);
  }

  commit(batch: Batch): Promise<void> {
    for (const lease of batch.leases) {
      this.#leases.set(lease.slotId, lease);
      this.#fence = Math.max(this.#fence, lease.fence);
    }
    for (const slotId of batch.ended) this.#leases.delete(slotId);
    for (const entry of batch.entries) this.#addEntry(entry);
    for (const row of batch.nonces ?? []) this.#nonces.set(`${row.pool} ${row.nonce}`, row);
    this.#fence = Math.max(this.#fence, batch.fence);
    return Promise.resolve();
  }

  fold(): Promise<void> {
    return Promise.resolve();
  }

  foldMuch(): Promise<void> {
    return Promise.resolve();
  }

  savePools(rows: readonly PoolRow[], keys?: KeyChanges): Promise<void> {
    for (const row of rows) this.#pools.set(row.name, row);
    for (const { pool, id } of keys?.removed ?? []) this.#keys.get(pool)?.delete(id);
    return this.saveKeys(keys?.saved ?? []);
  }

  removePool(name: string): Promise<void> {
    this.#pools.delete(name);
    this.#keys.delete(name);
    this.#governors.delete(name);
    this.#changes.delete(name);
    return Promise.resolve();
  }

  saveKeys(rows: readonly KeyRow[]): Promise<void> {
    for (const row of rows) {
      const keys = this.#keys.get(row.pool) ?? new Map<string, KeyRow>();
      this.#keys.set(row.pool, keys.set(row.id, row));
    }
    return Promise.resolve();
  }

  removeKey(pool: string, id: string): Promise<void> {
    this.#keys.get(pool)?.delete(id);
    return Promise.resolve();
  }

  touchKeys(usedAt: ReadonlyMap<string, number>): Promise<void> {
    for (const keys of this.#keys.values()) {
      for (const row of keys.values()) {
        const lastUsedAt = usedAt.get(row.id);
        if (lastUsedAt !== undefined) keys.set(row.id, { ...row, lastUsedAt });
      }
    }
    return Promise.resolve();
  }

  saveGovernors(rows: readonly GovernorRow[], changes: readonly ChangeRow[]): Promise<void> {
    for (const { pool, saved } of rows) {
      if (this.#pools.has(pool)) this.#governors.set(pool, saved);
    }
    for (const change of changes) {
      if (!this.#pools.has(change.pool)) continue;
      const kept = this.#changes.get(change.pool) ?? [];
      kept.push(change);
      if (kept.length > CHANGES_KEPT) kept.shift();
      this.#changes.set(change.pool, kept);
    }
    return Promise.resolve();
  }

  readChanges(pool: string, limit: number): Promise<readonly ChangeRow[]> {
    const kept = this.#changes.get(pool) ?? [];
    return Promise.resolve(kept.toReversed().slice(0, limit));
  }

  addSession(row: SessionRow): Promise<void> {
    this.#sessions.set(row.hash, row);
    return Promise.resolve();
  }

  touchSessions(times: ReadonlyMap<string, number>): Promise<void> {
    for (const [hash, usedAt] of times) {
      const row = this.#sessions.get(hash);
      if (row !== undefined) this.#sessions.set(hash, { ...row, usedAt });
    }
    return Promise.resolve();
  }

  removeSessions(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) this.#sessions.delete(hash);
    return Promise.resolve();
  }

  readSessions(): Promise<readonly SessionRow[]> {
    return Promise.resolve([...this.#sessions.values()]);
  }

  saveHistory(rows: readonly HistoryRow[]): Promise<void> {
    for (const row of rows) this.#history.set(`${row.span} ${row.cell}`, row);
    return Promise.resolve();
  }

  readHistory(): Promise<readonly HistoryRow[]> {
    return Promise.resolve([...this.#history.values()]);
  }

  readValue(name: string): Promise<string | null> {
    return Promise.resolve(this.#values.get(name) ?? null);
  }

  saveValue(name: string, value: string): Promise<void> {
    this.#values.set(name, value);
    return Promise.resolve();
  }

  readNonces(): Promise<readonly NonceRow[]> {
    return Promise.resolve([...this.#nonces.values()]);
  }

  pruneNonces(before: number): Promise<void> {
    for (const [name, { until }] of this.#nonces) {
      if (until < before) this.#nonces.delete(name);
    }
    return Promise.resolve();
  }

  readLog(query: LogQuery): Promise<LogPage> {
    const { pool, limit, cursor, outcome, keyId, since, until } = query;
    const below = cursor === undefined ? Infinity : isLogCursor(cursor) ? Number(cursor) : 0;
    const found = (this.#log.get(pool) ?? []).filter(({ number, entry }) =>
      number < below && (outcome === undefined || entry.outcome === outcome) &&
      (keyId === undefined || entry.keyId === keyId) &&
      (since === undefined || entry.at >= since) && (until === undefined || entry.at <= until)
    ).reverse();
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const isEnd = last === undefined || page.length === found.length;
    return Promise.resolve({
      entries: page.map(({ entry }) => entry),
      nextCursor: isEnd ? null : String(last.number),
    });
  }

  pruneLog({ pool, rowsMax, since, sparedSince }: Retention): Promise<boolean> {
    const entries = this.#log.get(pool) ?? [];
    const kept = entries.filter(({ entry: { at } }, n) =>
      at >= since && (n >= entries.length - rowsMax || at >= sparedSince)
    );
    if (kept.length > 0) this.#log.set(pool, kept);
    else this.#log.delete(pool);
    return Promise.resolve(false);
  }

  loggedPools(): Promise<readonly string[]> {
    return Promise.resolve([...this.#log.keys()]);
  }

  readonly beatMs = null;

  probe(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #addEntry(entry: LogEntry): void {
    const entries = this.#log.get(entry.pool) ?? [];
    this.#logged += 1;
    entries.push({ number: this.#logged, entry });
    this.#log.set(entry.pool, entries);
    const attempt = parseInt(entry.id, 36);
    if (attempt > this.#attempt) this.#attempt = attempt;
  }
}
