/**
 * The deletion of log entries that are too old or too much, in steps that cost by what they delete,
 * however long the log is. What is too old is found by its time; what is too much stands at the
 * front, and how many entries there are in all is counted once and kept up to date since.
 */
import type { Retention } from '../store.ts';
import type { Connection } from './connection.ts';
import { type EntryRun, runsOf, storedEntries } from './entries_text.ts';
import { insertSegment, SEGMENT_ENTRIES_MAX } from './fold.ts';
import type { Write } from './writer.ts';

/** What one step deletes at most. */
const SEGMENTS_PRUNED = 100;

interface Segment {
  readonly last: number;
  readonly count: number;
}

/** Where the bound of rows goes through: the segment, and how many of its entries it leaves. */
interface Crossed {
  readonly last: number;
  readonly spared: number;
}

export class Pruning {
  readonly #connection: Connection;
  /** Entries of each pool, where they were counted. */
  readonly #entries = new Map<string, number>();
  /** Those folded since a count that goes on began. */
  readonly #added = new Map<string, number>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** These entries were folded just now. */
  folded(runs: readonly EntryRun[]): void {
    for (const { pool, count } of runs) {
      add(this.#entries, pool, count);
      add(this.#added, pool, count);
    }
  }

  /** It is not known when entries were folded or deleted: all are counted anew. */
  recount(): void {
    this.#entries.clear();
  }

  /**
   * Deletes the oldest segments that the pool can spare, and cuts the one through which a bound
   * goes; true where more are left.
   */
  async step(retention: Retention): Promise<boolean> {
    const { pool, since } = retention;
    if (await this.#delete(pool, await this.#tooOld(pool, since))) return true;
    const { due, crossed } = await this.#tooMuch(retention);
    if (await this.#delete(pool, due)) return true;
    await this.#cutOldest(retention, crossed);
    return false;
  }

  async #tooOld(pool: string, since: number): Promise<Segment[]> {
    const { rows } = await this.#connection.execute(
      `SELECT last, count FROM log_segment WHERE pool = ?1 AND at_last < ?2
       ORDER BY at_last LIMIT ${SEGMENTS_PRUNED + 1}`,
      [pool, since],
    );
    return rows.map((row) => ({ last: Number(row.last), count: Number(row.count) }));
  }

  async #tooMuch(
    { pool, rowsMax, sparedSince }: Retention,
  ): Promise<{ due: Segment[]; crossed: Crossed | null }> {
    let newer = this.#entries.get(pool) ?? await this.#count(pool);
    const due: Segment[] = [];
    if (newer <= rowsMax) return { due, crossed: null };
    const { rows } = await this.#connection.execute(
      `SELECT last, count, at_first, at_last FROM log_segment WHERE pool = ?1
       ORDER BY last LIMIT ${SEGMENTS_PRUNED + 1}`,
      [pool],
    );
    let crossed: Crossed | null = null;
    for (const row of rows) {
      const [last, count] = [Number(row.last), Number(row.count)];
      newer -= count;
      if (newer + count <= rowsMax) break;
      if (newer >= rowsMax && Number(row.at_last) < sparedSince) due.push({ last, count });
      else if (Number(row.at_first) < sparedSince) crossed ??= { last, spared: rowsMax - newer };
    }
    return { due, crossed };
  }

  async #count(pool: string): Promise<number> {
    for (;;) {
      this.#added.set(pool, 0);
      const { rows } = await this.#connection.execute(
        'SELECT total(count) AS entries FROM log_segment WHERE pool = ?1',
        [pool],
      );
      const isWhole = this.#added.get(pool) === 0;
      this.#added.delete(pool);
      if (!isWhole) continue;
      const entries = Number(rows[0]?.entries);
      this.#entries.set(pool, entries);
      return entries;
    }
  }

  /** Deletes as many of them as one step may; true where some are left. */
  async #delete(pool: string, segments: readonly Segment[]): Promise<boolean> {
    const step = segments.slice(0, SEGMENTS_PRUNED);
    if (step.length > 0) await this.#write(pool, [deleteSegments(pool, step)], -countOf(step));
    return segments.length > step.length;
  }

  /** Entries come in the order of time, or nearly: only the oldest segment is looked at. */
  async #cutOldest(
    { pool, since, sparedSince }: Retention,
    crossed: Crossed | null,
  ): Promise<void> {
    const { rows } = await this.#connection.execute(
      `SELECT last, count, entries FROM
         (SELECT * FROM log_segment WHERE pool = ?1 ORDER BY last LIMIT 1)
       WHERE last = ?2 OR at_first < ?3`,
      [pool, crossed?.last ?? null, since],
    );
    const [row] = rows;
    if (row === undefined) return;
    const entries = storedEntries(pool, String(row.entries));
    const spared = crossed?.spared ?? SEGMENT_ENTRIES_MAX;
    const kept = entries.filter(({ at }, n) =>
      at >= since && (n >= entries.length - spared || at >= sparedSince)
    );
    const [last, count] = [Number(row.last), Number(row.count)];
    await this.#write(pool, [
      deleteSegments(pool, [{ last, count }]),
      ...(kept.length === 0 ? [] : [insertSegment(pool, last, runsOf(kept))]),
    ], kept.length - count);
  }

  /** @param added entries that it adds, below 0 where it deletes some. */
  async #write(pool: string, writes: Write[], added: number): Promise<void> {
    try {
      await this.#connection.write(writes);
      add(this.#entries, pool, added);
      add(this.#added, pool, added);
    } catch (error) {
      this.recount();
      throw error;
    }
  }
}

function add(sums: Map<string, number>, pool: string, count: number): void {
  const sum = sums.get(pool);
  if (sum !== undefined) sums.set(pool, sum + count);
}

function countOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { count }) => sum + count, 0);
}

function deleteSegments(pool: string, segments: readonly Segment[]): Write {
  return {
    sql: `DELETE FROM log_segment
      WHERE pool = ?1 AND last IN (SELECT value FROM json_each(?2))`,
    args: [pool, JSON.stringify(segments.map(({ last }) => last))],
  };
}
