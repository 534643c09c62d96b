/**
 * The access log in its segments: pages of it. It reads whole segments, so what it does in one call
 * is bounded whatever is asked. It never sees the journal: who reads folds first. A segment's last
 * entry never changes its number; those before it follow from that, since pruning takes them from
 * the front.
 */
import type { Row } from '@libsql/client';
import type { LogEntry } from '../entry.ts';
import { isLogCursor, type LogPage, type LogQuery } from '../store.ts';
import { entriesOf } from './entries_text.ts';
import type { Connection } from './connection.ts';
import { SEGMENT_ENTRIES_MAX } from './fold.ts';

/** Segments that one page looks at, and entries that it decodes. */
const SEGMENTS_LOOKED_AT = 500;
const ENTRIES_DECODED = 4_000;

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

export async function readLoggedPools(connection: Connection): Promise<string[]> {
  // From one pool to the next by the index, past all the segments of each.
  const { rows } = await connection.execute(
    `WITH RECURSIVE logged(pool) AS (
       SELECT min(pool) FROM log_segment
       UNION ALL
       SELECT (SELECT min(pool) FROM log_segment WHERE pool > logged.pool)
       FROM logged WHERE logged.pool IS NOT NULL
     ) SELECT pool FROM logged WHERE pool IS NOT NULL`,
    [],
  );
  return rows.map((row) => String(row.pool));
}
