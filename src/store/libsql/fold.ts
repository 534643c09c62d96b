/**
 * The fold: what committed batches come to, and the statements that move that from the journal to
 * where it stays. It is pure; the journal runs it. It must say the same for batches from memory as
 * for the same batches read back from the database.
 */
import { BySlotId, type Slotted } from '../../core/by_slot_id.ts';
import type { Batch, LeaseRow, NonceRow } from '../store.ts';
import { leasesText, noncesText } from './batch_text.ts';
import { type EntryRun, isLater, RUN_ENTRIES_MAX, runsText } from './entries_text.ts';
import type { Write } from './writer.ts';

/** Entries of a log segment at most: any run goes into one. */
export const SEGMENT_ENTRIES_MAX = RUN_ENTRIES_MAX;
const SEGMENT_SQL = `INSERT INTO log_segment
  (pool, last, first, count, at_first, at_last, outcomes, entries)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
/** Text of an entry that costs a fold as much as a lease does. */
const WEIGHED_CHARACTERS = 60;

/** A batch, and its entries as they are kept until its fold. */
export interface Committed {
  readonly batch: Omit<Batch, 'entries'>;
  readonly runs: readonly EntryRun[];
}

/** Batches that were committed and not yet folded, as their net effect. */
export class Backlog {
  readonly began = new BySlotId<LeaseRow>();
  /** Leases that ended and are in the lease table, with their numbers there. */
  readonly gone = new Map<string, number>();
  readonly runs: EntryRun[] = [];
  /** Entries of all runs. */
  entryCount = 0;
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
  add({ batch, runs }: Committed, seq: number, stored: StoredLeases): void {
    for (const lease of batch.leases) this.began.set(lease);
    for (const slotId of batch.ended) {
      this.began.delete(slotId);
      const id = stored.idOf(slotId);
      if (id !== undefined) this.gone.set(slotId, id);
    }
    for (const run of runs) {
      this.runs.push(run);
      this.entryCount += run.count;
      if (isLater(run.newestId, this.#newestId)) this.#newestId = run.newestId;
      this.weight += run.text.length / WEIGHED_CHARACTERS;
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

/** A lease in the lease table, with its number there. */
export interface NumberedLease extends Slotted {
  readonly id: number;
}

/** Which leases are in the lease table, or will be by the fold that was begun last. */
export class StoredLeases {
  readonly #leases = new BySlotId<NumberedLease>();
  #lastId = 0;

  constructor(found: Iterable<NumberedLease>) {
    for (const lease of found) {
      this.#leases.set(lease);
      this.#lastId = Math.max(this.#lastId, lease.id);
    }
  }

  idOf(slotId: string): number | undefined {
    return this.#leases.get(slotId)?.id;
  }

  /** Takes the backlog's leases over: which numbers go, and from which on the new ones come. */
  take({ began, gone }: Backlog): { readonly deleted: number[]; readonly firstId: number } {
    const deleted = [...gone.values()];
    const firstId = this.#lastId + 1;
    for (const slotId of gone.keys()) this.#leases.delete(slotId);
    for (const { slotId, fence } of began.values()) {
      const replaced = this.idOf(slotId);
      if (replaced !== undefined) deleted.push(replaced);
      this.#lastId += 1;
      this.#leases.set({ slotId, fence, id: this.#lastId });
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
export function foldStatements({ backlog, deleted, firstId, marks }: Fold): Write[] {
  const { began, runs, entryCount, nonces, fence, attempt, lastSeq } = backlog;
  return [
    {
      // A fold that was applied although its answer was lost cannot be applied again.
      sql: `UPDATE claim SET fence = max(fence, ?1), attempt = max(attempt, ?2), logged = ?3,
        folds = ?4 + 1, id = CASE folds WHEN ?4 THEN 1 ELSE 0 END`,
      args: [fence, attempt, marks.logged + entryCount, marks.folds],
    },
    ...(deleted.length === 0 ? [] : [deleteLeases(deleted)]),
    ...(began.size === 0 ? [] : [{
      // One parameter for all rows: binding each by itself takes twice as long.
      sql: 'INSERT INTO lease (id, body) SELECT ?1 + key, value FROM json_each(?2)',
      args: [firstId, leasesText(began.values())],
    }]),
    ...(nonces.length === 0 ? [] : [insertNonces(nonces)]),
    ...segmentsOf(runs, marks.logged).map((args) => ({ sql: SEGMENT_SQL, args })),
    { sql: 'DELETE FROM journal WHERE seq <= ?1', args: [lastSeq] },
  ];
}

function insertNonces(nonces: readonly NonceRow[]): Write {
  return {
    sql: `INSERT OR REPLACE INTO nonce (pool, nonce, until)
      SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)`,
    args: [noncesText(nonces)],
  };
}

export function deleteLeases(ids: readonly number[]): Write {
  return {
    sql: 'DELETE FROM lease WHERE id IN (SELECT value FROM json_each(?1))',
    args: [JSON.stringify(ids)],
  };
}

/** Rows of log_segment, in the order of its columns in {@link SEGMENT_SQL}. */
function segmentsOf(runs: readonly EntryRun[], logged: number): (string | number)[][] {
  const open = new Map<string, Filling>();
  const segments: Filling[] = [];
  for (const run of runs) {
    let segment = open.get(run.pool);
    if (segment === undefined || segment.count + run.count > SEGMENT_ENTRIES_MAX) {
      segment = { pool: run.pool, runs: [], count: 0 };
      open.set(run.pool, segment);
      segments.push(segment);
    }
    segment.runs.push(run);
    segment.count += run.count;
  }
  let last = logged;
  return segments.map(({ pool, runs, count }) => {
    last += count;
    return segmentRow(pool, { last, count, runs });
  });
}

/** The statement that writes a segment anew under the number of its last entry. */
export function insertSegment(pool: string, last: number, runs: readonly EntryRun[]): Write {
  const count = runs.reduce((sum, run) => sum + run.count, 0);
  return { sql: SEGMENT_SQL, args: segmentRow(pool, { last, count, runs }) };
}

function segmentRow(
  pool: string,
  { last, count, runs }: { last: number; count: number; runs: readonly EntryRun[] },
): (string | number)[] {
  return [pool, last, last - count + 1, count, ...extent(runs), runsText(runs)];
}

/** A segment while it is filled. */
interface Filling {
  readonly pool: string;
  readonly runs: EntryRun[];
  count: number;
}

function extent(runs: readonly EntryRun[]): [number, number, string] {
  const atFirst = Math.min(...runs.map((run) => run.atFirst));
  const atLast = Math.max(...runs.map((run) => run.atLast));
  const outcomes = new Set(runs.flatMap((run) => [...run.outcomes]));
  return [atFirst, atLast, `|${[...outcomes].join('|')}|`];
}
