/**
 * The fold: what committed batches come to, and the statements that move that from the journal to
 * where it stays. It is pure; the journal runs it. It must say the same for batches from memory as
 * for the same batches read back from the database.
 */
import type { InStatement } from '@libsql/client';
import type { LogEntry } from '../entry.ts';
import type { Batch, LeaseRow, NonceRow } from '../store.ts';
import { entriesText, leasesText, noncesText } from './batch_text.ts';

/** Entries of a log segment at most. */
export const SEGMENT_ENTRIES_MAX = 500;
const SEGMENTS_A_STATEMENT = 100;
/** What the entry of a proxied request costs beside one of a lock. */
const PROXIED_WEIGHT = 3;

/** Batches that were committed and not yet folded, as their net effect. */
export class Backlog {
  readonly began = new Map<string, LeaseRow>();
  /** Leases that ended and are in the lease table, with their numbers there. */
  readonly gone = new Map<string, number>();
  readonly entries: LogEntry[] = [];
  readonly nonces: NonceRow[] = [];
  /** How much was added; what a fold costs at most. */
  weight = 0;
  fence = 0;
  lastSeq = 0;
  #newestId = '0';

  /** The highest number that the entries' ids were made of. */
  get attempt(): number {
    return parseInt(this.#newestId, 36) || 0;
  }

  /** @param stored the leases in the lease table. */
  add(batch: Batch, seq: number, stored: StoredLeases): void {
    for (const lease of batch.leases) this.began.set(lease.slotId, lease);
    for (const slotId of batch.ended) {
      this.began.delete(slotId);
      const id = stored.idOf(slotId);
      if (id !== undefined) this.gone.set(slotId, id);
    }
    for (const entry of batch.entries) {
      this.entries.push(entry);
      if (isLater(entry.id, this.#newestId)) this.#newestId = entry.id;
      this.weight += entry.proxied === undefined ? 1 : PROXIED_WEIGHT;
    }
    if (batch.fence > this.fence) this.fence = batch.fence;
    this.weight += 1 + batch.leases.length + batch.ended.length;
    for (const row of batch.nonces ?? []) {
      this.nonces.push(row);
      this.weight++;
    }
    this.lastSeq = seq;
  }
}

/** Whether one number in base 36 is greater than another; cheaper than to parse both. */
function isLater(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length;
}

/** Which leases are in the lease table, or will be by the fold that was begun last. */
export class StoredLeases {
  readonly #ids = new Map<string, number>();
  #lastId = 0;

  constructor(found: Iterable<readonly [slotId: string, id: number]>) {
    for (const [slotId, id] of found) {
      this.#ids.set(slotId, id);
      this.#lastId = Math.max(this.#lastId, id);
    }
  }

  idOf(slotId: string): number | undefined {
    return this.#ids.get(slotId);
  }

  /** Takes the backlog's leases over: which numbers go, and from which on the new ones come. */
  take({ began, gone }: Backlog): { readonly deleted: number[]; readonly firstId: number } {
    const deleted = [...gone.values()];
    const firstId = this.#lastId + 1;
    for (const slotId of gone.keys()) this.#ids.delete(slotId);
    for (const slotId of began.keys()) {
      const replaced = this.#ids.get(slotId);
      if (replaced !== undefined) deleted.push(replaced);
      this.#lastId += 1;
      this.#ids.set(slotId, this.#lastId);
    }
    return { deleted, firstId };
  }
}

/** Where the counts stood before the fold. */
export interface Marks {
  readonly folds: number;
  readonly logged: number;
}

/** A backlog, what {@link StoredLeases.take} told of it, and where the counts stood before it. */
export interface Fold {
  readonly backlog: Backlog;
  readonly deleted: readonly number[];
  readonly firstId: number;
  readonly marks: Marks;
}

/** The statements that move the marks on by one fold and the backlog's entries. */
export function foldStatements({ backlog, deleted, firstId, marks }: Fold): InStatement[] {
  const { began, entries, nonces, fence, attempt, lastSeq } = backlog;
  return [
    {
      // A fold that was applied although its answer was lost cannot be applied again.
      sql: `UPDATE claim SET fence = max(fence, ?1), attempt = max(attempt, ?2), logged = ?3,
        folds = ?4 + 1, id = CASE folds WHEN ?4 THEN 1 ELSE 0 END`,
      args: [fence, attempt, marks.logged + entries.length, marks.folds],
    },
    ...(deleted.length === 0 ? [] : [deleteLeases(deleted)]),
    ...(began.size === 0 ? [] : [{
      // One parameter for all rows: binding each by itself takes twice as long.
      sql: 'INSERT INTO lease (id, body) SELECT ?1 + key, value FROM json_each(?2)',
      args: [firstId, leasesText(began.values())],
    }]),
    ...(nonces.length === 0 ? [] : [insertNonces(nonces)]),
    ...insertSegments(segmentsOf(entries, marks.logged)),
    { sql: 'DELETE FROM journal WHERE seq <= ?1', args: [lastSeq] },
  ];
}

function insertNonces(nonces: readonly NonceRow[]): InStatement {
  return {
    sql: `INSERT OR REPLACE INTO nonce (pool, nonce, until)
      SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)`,
    args: [noncesText(nonces)],
  };
}

export function deleteLeases(ids: readonly number[]): InStatement {
  return {
    sql: 'DELETE FROM lease WHERE id IN (SELECT value FROM json_each(?1))',
    args: [JSON.stringify(ids)],
  };
}

function insertSegments(rows: readonly (string | number)[][]): InStatement[] {
  const statements: InStatement[] = [];
  for (let i = 0; i < rows.length; i += SEGMENTS_A_STATEMENT) {
    const some = rows.slice(i, i + SEGMENTS_A_STATEMENT);
    statements.push({
      sql: `INSERT INTO log_segment
        (pool, last, first, count, at_first, at_last, outcomes, entries)
        VALUES ${some.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
      args: some.flat(),
    });
  }
  return statements;
}

/** Rows of log_segment, in the order of its columns above. */
function segmentsOf(entries: readonly LogEntry[], logged: number): (string | number)[][] {
  const byPool = new Map<string, LogEntry[]>();
  for (const entry of entries) {
    const list = byPool.get(entry.pool);
    if (list === undefined) byPool.set(entry.pool, [entry]);
    else list.push(entry);
  }
  const rows: (string | number)[][] = [];
  let last = logged;
  for (const [pool, list] of byPool) {
    for (let i = 0; i < list.length; i += SEGMENT_ENTRIES_MAX) {
      const some = list.slice(i, i + SEGMENT_ENTRIES_MAX);
      const first = last + 1;
      last += some.length;
      rows.push([pool, last, first, some.length, ...extent(some), entriesText(some)]);
    }
  }
  return rows;
}

function extent(entries: readonly LogEntry[]): [number, number, string] {
  let atFirst = Infinity;
  let atLast = -Infinity;
  const outcomes = new Set<string>();
  for (const { at, outcome } of entries) {
    if (at < atFirst) atFirst = at;
    if (at > atLast) atLast = at;
    outcomes.add(outcome);
  }
  return [atFirst, atLast, `|${[...outcomes].join('|')}|`];
}
