/**
 * The journal: one row for each committed batch, and the folding of those rows into leases and log
 * segments. It owns the rule of when and what is folded. It must never fold in memory what the
 * database does not hold, nor report a batch as durable before its row is.
 */
import { readMarks } from '../claim.ts';
import type { Batch, LeaseRow } from '../store.ts';
import { batchOf, batchText, leaseOfText } from './batch_text.ts';
import type { Connection } from './connection.ts';
import { runsOf } from './entries_text.ts';
import type { Pruning } from './pruning.ts';
import { Backlog, type Fold, foldStatements, type Marks, StoredLeases } from './fold.ts';

/** A backlog of this weight is folded without being asked: some 1 ms of work. */
const FOLD_WEIGHT = 3_000;
/** Below this it waits for more, or for whoever must have it folded. */
const FOLD_WEIGHT_WORTH = 1_000;
/** Beyond this the store refuses commits until folding works again. */
const BACKLOG_WEIGHT_MAX = 200_000;
const REPLAY_ROWS = 500;
/** What a commit appends to the log beside its text: the pages that it stands in. */
const COMMIT_BYTES = 2 * 4096;

/** Where so many calls share a commit, others come before the disk has answered. */
const SHARED_BY = 8;

const COMMIT_SQL = 'INSERT INTO journal (body) SELECT ?1 WHERE (SELECT epoch FROM claim) = ?2';

export class Journal {
  /** By how much commits made the write-ahead log grow, beside folds; lowered by who empties it. */
  appendedBytes = 0;
  readonly #connection: Connection;
  readonly #pruning: Pruning;
  readonly #stored: StoredLeases;
  #marks: Marks;
  #backlog = new Backlog();
  /** A fold that was begun, and is tried until it is known to be in the database. */
  #begun: Fold | null = null;
  #isInDoubt = false;
  #folding: Promise<void> | null = null;
  #nextFold: Promise<void> | null = null;

  /** @param stored what {@link readLeases} told. */
  constructor(
    connection: Connection,
    { stored, marks, pruning }: { stored: readonly StoredLease[]; marks: Marks; pruning: Pruning },
  ) {
    this.#connection = connection;
    this.#pruning = pruning;
    this.#stored = new StoredLeases(
      stored.map(({ id, row: { slotId, fence } }) => ({ slotId, fence, id })),
    );
    this.#marks = marks;
  }

  /** What waits to be folded is worth it: many entries go into one segment of the log. */
  get isWorthFolding(): boolean {
    return this.#begun !== null || this.#backlog.weight >= FOLD_WEIGHT_WORTH;
  }

  async commit(batch: Batch): Promise<void> {
    if (this.#backlog.weight > BACKLOG_WEIGHT_MAX) await this.fold();
    const runs = runsOf(batch.entries);
    const text = batchText(batch, runs);
    const commit = { sql: COMMIT_SQL, args: [text, this.#connection.epoch] };
    const seq = await this.#connection.append(commit, batch.entries.length >= SHARED_BY);
    if (seq === null) throw this.#connection.lost();
    this.appendedBytes += COMMIT_BYTES + text.length;
    this.#backlog.add({ batch, runs }, seq, this.#stored);
    // The commit is durable whatever becomes of this fold; the next one tells of its error.
    if (this.#backlog.weight >= FOLD_WEIGHT) this.fold().catch(() => {});
  }

  /** Folds all that was committed when it was called; so it does not join a fold under way. */
  fold(): Promise<void> {
    if (this.#folding !== null) {
      this.#nextFold ??= this.#folding.catch(() => {}).then(() => {
        this.#nextFold = null;
        return this.fold();
      });
      return this.#nextFold;
    }
    if (this.#begun === null && this.#backlog.lastSeq === 0) return Promise.resolve();
    this.#folding = this.#foldAll().finally(() => this.#folding = null);
    return this.#folding;
  }

  /** Folds what an earlier process left in the journal. */
  async replay(): Promise<void> {
    // A batch whose commit seemed to fail may be here, and its entries again in a later one.
    const known = new Set<string>();
    while (true) {
      const { rows } = await this.#connection.execute(
        'SELECT seq, body FROM journal ORDER BY seq LIMIT ?1',
        [REPLAY_ROWS],
      );
      for (const row of rows) {
        const batch = batchOf(String(row.body));
        const fresh = batch.entries.filter(({ id }) => !known.has(id) && known.add(id));
        this.#backlog.add({ batch, runs: runsOf(fresh) }, Number(row.seq), this.#stored);
      }
      if (rows.length === 0) return;
      await this.fold();
    }
  }

  async #foldAll(): Promise<void> {
    if (this.#begun !== null) await this.#foldBegun(this.#begun);
    if (this.#backlog.lastSeq === 0) return;
    const backlog = this.#backlog;
    this.#backlog = new Backlog();
    // From here on what comes later counts on this fold, so it is tried until it is done.
    this.#begun = { backlog, ...this.#stored.take(backlog), marks: this.#marks };
    await this.#foldBegun(this.#begun);
  }

  async #foldBegun(begun: Fold): Promise<void> {
    const { folds, logged } = begun.marks;
    const isApplied = this.#isInDoubt && (await readMarks(this.#connection)).folds > folds;
    if (isApplied) {
      this.#pruning.recount();
    } else {
      this.#isInDoubt = true;
      // What is folded stands in the journal, too, until this has reached the disk.
      await this.#connection.rearrange(foldStatements(begun));
      this.#pruning.folded(begun.backlog.runs);
    }
    this.#isInDoubt = false;
    this.#begun = null;
    this.#marks = { folds: folds + 1, logged: logged + begun.backlog.entryCount };
  }
}

/** A row of the lease table. */
export interface StoredLease {
  readonly id: number;
  readonly row: LeaseRow;
}

export async function readLeases(connection: Connection): Promise<StoredLease[]> {
  const { rows } = await connection.execute('SELECT id, body FROM lease', []);
  return rows.map((row) => ({
    id: Number(row.id),
    row: leaseOfText(String(row.body)),
  }));
}
