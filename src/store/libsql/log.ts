/**
 * The access log in its segments: pages of it, and the deletion of what is too old or too much. It
 * reads and writes whole segments, so what it does in one call is bounded whatever is asked. It
 * never sees the journal: who reads folds first. A segment's last entry never changes its number;
 * those before it follow from that, since pruning takes them from the front.
 */
import type { Row } from '@libsql/client';
import type { LogEntry } from '../entry.ts';
import { isLogCursor, type LogPage, type LogQuery, type Retention } from '../store.ts';
import { entriesOf, runsOf } from './entries_text.ts';
import type { Connection } from './connection.ts';
import { insertSegment, SEGMENT_ENTRIES_MAX } from './fold.ts';
import type { Write } from './writer.ts';

/** Segments that one page looks at, and entries that it decodes. */
const SEGMENTS_LOOKED_AT = 500;
const ENTRIES_DECODED = 4_000;
/** What one step of pruning deletes at most. */
const SEGMENTS_PRUNED = 100;

interface Segment {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly isWanted: boolean;
}

export async function readLogPage(connection: Connection, query: LogQuery): Promise<LogPage> {
  const below = query.cursor === undefined
    ? Number.MAX_SAFE_INTEGER
    : isLogCursor(query.cursor)
    ? Number(query.cursor)
    : 0;
  const segments = await lookAt(connection, query, below);
  const chosen = choose(segments, query, below);
  const texts = await readTexts(connection, query.pool, chosen.wanted);
  const entries: LogEntry[] = [];
  for (const { last } of chosen.wanted) {
    const text = texts.get(last);
    // It was pruned since it was looked at, or cut: it begins where its last entry says.
    if (text === undefined) continue;
    const held = entriesOf(text);
    const first = last - held.length + 1;
    for (let i = held.length - 1; i >= 0; i -= 1) {
      const entry = held[i];
      if (entry === undefined || first + i >= below || !isAskedFor(entry, query)) continue;
      entries.push(entry);
      if (entries.length === query.limit) {
        const isLast = first + i === chosen.lowest && chosen.isEnd;
        return { entries, nextCursor: isLast ? null : String(first + i) };
      }
    }
  }
  return { entries, nextCursor: chosen.isEnd ? null : String(chosen.lowest) };
}

/** Segments of the pool with entries below the cursor, newest first, without their entries. */
async function lookAt(
  connection: Connection,
  query: LogQuery,
  below: number,
): Promise<Segment[]> {
  const { pool, outcome, since, until } = query;
  const { rows } = await connection.execute(
    `SELECT first, last, count,
       (?3 IS NULL OR instr(outcomes, ?3) > 0) AND (?4 IS NULL OR at_last >= ?4)
         AND (?5 IS NULL OR at_first <= ?5) AS is_wanted
     FROM log_segment WHERE pool = ?1 AND first < ?2 AND last < ?2 + ${SEGMENT_ENTRIES_MAX}
     ORDER BY last DESC LIMIT ${SEGMENTS_LOOKED_AT}`,
    [pool, below, outcome === undefined ? null : `|${outcome}|`, since ?? null, until ?? null],
  );
  return rows.map((row: Row) => ({
    first: Number(row.first),
    last: Number(row.last),
    count: Number(row.count),
    isWanted: row.is_wanted === 1,
  }));
}

interface Choice {
  readonly wanted: Segment[];
  /** The lowest number of an entry that the page accounts for. */
  readonly lowest: number;
  /** Whether the pool has no entry below it. */
  readonly isEnd: boolean;
}

/** As many of the segments as a page may need and a call may decode. */
function choose(segments: readonly Segment[], query: LogQuery, below: number): Choice {
  const { outcome, keyId, since, until, limit } = query;
  const isFiltered = [outcome, keyId, since, until].some((filter) => filter !== undefined);
  const enough = isFiltered ? ENTRIES_DECODED : limit;
  const wanted: Segment[] = [];
  let lowest = below;
  let entries = 0;
  for (const segment of segments) {
    if (entries >= enough) return { wanted, lowest, isEnd: false };
    lowest = segment.first;
    if (!segment.isWanted) continue;
    wanted.push(segment);
    entries += Math.min(segment.count, below - segment.first);
  }
  return { wanted, lowest, isEnd: segments.length < SEGMENTS_LOOKED_AT };
}

/** The entries of the segments, by the segment's last number. */
async function readTexts(
  connection: Connection,
  pool: string,
  segments: readonly Segment[],
): Promise<Map<number, string>> {
  if (segments.length === 0) return new Map();
  const { rows } = await connection.execute(
    `SELECT last, entries FROM log_segment
     WHERE pool = ?1 AND last IN (SELECT value FROM json_each(?2))`,
    [pool, JSON.stringify(segments.map(({ last }) => last))],
  );
  return new Map(rows.map((row) => [Number(row.last), String(row.entries)]));
}

function isAskedFor(entry: LogEntry, { outcome, keyId, since, until }: LogQuery): boolean {
  return (outcome === undefined || entry.outcome === outcome) &&
    (keyId === undefined || entry.keyId === keyId) &&
    (since === undefined || entry.at >= since) && (until === undefined || entry.at <= until);
}

/**
 * Deletes the oldest segments that the pool can spare, and cuts the one through which a bound goes;
 * true where more are left.
 */
export async function pruneStep(connection: Connection, retention: Retention): Promise<boolean> {
  const { pool, rowsMax, since, sparedSince } = retention;
  const { rows } = await connection.execute(
    `SELECT last, ?2 - newer AS spared,
       (newer >= ?2 AND at_last < ?4) OR at_last < ?3 AS is_due FROM (
       SELECT last, count, at_first, at_last,
         sum(count) OVER (ORDER BY last DESC) - count AS newer
       FROM log_segment WHERE pool = ?1
     ) WHERE (newer + count > ?2 AND at_first < ?4) OR at_last < ?3
     ORDER BY last LIMIT ${SEGMENTS_PRUNED + 1}`,
    [pool, rowsMax, since, sparedSince],
  );
  const step = rows.slice(0, SEGMENTS_PRUNED);
  const due = step.filter((row) => row.is_due === 1).map((row) => Number(row.last));
  if (due.length > 0) await connection.write([deleteSegments(pool, due)]);
  if (rows.length > SEGMENTS_PRUNED) return true;
  const crossed = step.find((row) => row.is_due !== 1);
  await cutOldest(connection, pool, {
    since,
    sparedSince,
    last: crossed === undefined ? null : Number(crossed.last),
    spared: crossed === undefined ? SEGMENT_ENTRIES_MAX : Number(crossed.spared),
  });
  return false;
}

interface Cut extends Pick<Retention, 'since' | 'sparedSince'> {
  /** The segment through which the bound of rows goes, or what is spared of it, if there is one. */
  readonly last: number | null;
  /** How many of its entries the bound of rows leaves; none where below 1. */
  readonly spared: number;
}

/** Entries come in the order of time, or nearly: only the oldest segment is looked at. */
async function cutOldest(
  connection: Connection,
  pool: string,
  { since, sparedSince, last, spared }: Cut,
): Promise<void> {
  const { rows } = await connection.execute(
    `SELECT last, entries FROM
       (SELECT * FROM log_segment WHERE pool = ?1 ORDER BY last LIMIT 1)
     WHERE last = ?2 OR at_first < ?3`,
    [pool, last, since],
  );
  const [row] = rows;
  if (row === undefined) return;
  const entries = entriesOf(String(row.entries));
  const kept = entries.filter(({ at }, n) =>
    at >= since && (n >= entries.length - spared || at >= sparedSince)
  );
  const number = Number(row.last);
  await connection.write([
    deleteSegments(pool, [number]),
    ...(kept.length === 0 ? [] : [insertSegment(pool, number, runsOf(kept))]),
  ]);
}

function deleteSegments(pool: string, lasts: readonly number[]): Write {
  return {
    sql: `DELETE FROM log_segment
      WHERE pool = ?1 AND last IN (SELECT value FROM json_each(?2))`,
    args: [pool, JSON.stringify(lasts)],
  };
}

export async function readLoggedPools(connection: Connection): Promise<string[]> {
  const { rows } = await connection.execute('SELECT DISTINCT pool FROM log_segment', []);
  return rows.map((row) => String(row.pool));
}
