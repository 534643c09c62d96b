/**
 * The fold: what committed batches come to, and the statements that move that from the journal to
 * where it stays. It is pure; the journal runs it. It must say the same for batches from memory as
 * for the same batches read back from the database.
 */
import type { InStatement } from '@libsql/client';
import type { LogEntry } from '../entry.ts';
import type { Batch, LeaseRow } from '../store.ts';
import { entriesText, leasesText } from './batch_text.ts';

/** Entries of a log segment at most. */
export const SEGMENT_ENTRIES_MAX = 500;
const SEGMENTS_A_STATEMENT = 100;

/** Batches that were committed and not yet folded, as their net effect. */
export class Backlog {
  readonly began = new Map<string, LeaseRow>();
  /** Leases that are in the lease table and ended. */
  readonly gone = new Set<string>();
  readonly entries: LogEntry[] = [];
  /** How much was added; what a fold costs at most. */
  weight = 0;
  fence = 0;
  attempt = 0;
  lastSeq = 0;

  /** @param stored the slot ids in the lease table. */
  add(batch: Batch, seq: number, stored: ReadonlySet<string>): void {
    for (const lease of batch.leases) this.began.set(lease.slotId, lease);
    for (const slotId of batch.ended) {
      this.began.delete(slotId);
      if (stored.has(slotId)) this.gone.add(slotId);
    }
    for (const entry of batch.entries) {
      this.entries.push(entry);
      const attempt = parseInt(entry.id, 36);
      if (attempt > this.attempt) this.attempt = attempt;
    }
    if (batch.fence > this.fence) this.fence = batch.fence;
    this.weight += 1 + batch.leases.length + batch.ended.length + batch.entries.length;
    this.lastSeq = seq;
  }
}

/** Where the counts stood before the fold. */
export interface Marks {
  readonly folds: number;
  readonly logged: number;
}

/** The statements of a fold that moves `marks` on by one fold and the backlog's entries. */
export function foldStatements(backlog: Backlog, marks: Marks): InStatement[] {
  const { began, gone, entries, fence, attempt, lastSeq } = backlog;
  const statements: InStatement[] = [{
    // A fold that was applied although its answer was lost cannot be applied again.
    sql: `UPDATE claim SET fence = max(fence, ?1), attempt = max(attempt, ?2), logged = ?3,
      folds = ?4 + 1, id = CASE folds WHEN ?4 THEN 1 ELSE 0 END`,
    args: [fence, attempt, marks.logged + entries.length, marks.folds],
  }];
  if (gone.size > 0) {
    statements.push({
      sql: 'DELETE FROM lease WHERE slot_id IN (SELECT value FROM json_each(?1))',
      args: [JSON.stringify([...gone])],
    });
  }
  if (began.size > 0) {
    statements.push({
      sql: `INSERT OR REPLACE INTO lease (slot_id, pool, body)
        SELECT value ->> 0, value ->> 1, value FROM json_each(?1)`,
      args: [leasesText(began.values())],
    });
  }
  const segments = segmentsOf(entries, marks.logged);
  for (let i = 0; i < segments.length; i += SEGMENTS_A_STATEMENT) {
    const some = segments.slice(i, i + SEGMENTS_A_STATEMENT);
    statements.push({
      sql: `INSERT INTO log_segment
        (pool, last, first, count, at_first, at_last, outcomes, entries)
        VALUES ${some.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
      args: some.flat(),
    });
  }
  statements.push({ sql: 'DELETE FROM journal WHERE seq <= ?1', args: [lastSeq] });
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
