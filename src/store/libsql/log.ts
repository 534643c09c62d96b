/**
 * The pages of the access log, read from its segments. A page is looked for in pieces, between
 * which the process gets its turn, and of which a call takes so many and no more, whatever is
 * asked. It never sees the journal: who reads folds first. A segment's last entry never changes its
 * number; those before it follow from that, since pruning takes them from the front.
 */
import type { Client, Row } from '@libsql/client';
import type { LogEntry } from '../entry.ts';
import { isLogCursor, type LogPage, type LogQuery } from '../store.ts';
import { storedEntries } from './entries_text.ts';
import type { Connection } from './connection.ts';
import { SEGMENT_ENTRIES_MAX } from './fold.ts';

/** Segments that one look passes by, by the index alone where it can, and that it reads. */
const SEGMENTS_PASSED = 10_000;
const SEGMENTS_READ = 1_000;
/** Entries that one look decodes. */
const ENTRIES_DECODED = 2_000;
/** Looks of one call: where a filter finds less, the caller asks again for what is older. */
const LOOKS_MAX = 20;

/** @param rest lets the process do other work between two looks. */
export async function readLogPage(
  connection: Connection,
  query: LogQuery,
  rest: () => Promise<void>,
): Promise<LogPage> {
  const entries: LogEntry[] = [];
  let below = firstBelow(query.cursor);
  for (let looks = 1;; looks += 1) {
    const limit = query.limit - entries.length;
    // One piece of work, so that no fold and no pruning moves what it found before it is read.
    const look = await connection.run((client) => lookAt(client, { ...query, limit }, below));
    entries.push(...look.entries);
    const { next } = look;
    if (next === null || entries.length === query.limit || looks === LOOKS_MAX) {
      return { entries, nextCursor: next === null ? null : String(next) };
    }
    below = next;
    await rest();
  }
}

function firstBelow(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  return isLogCursor(cursor) ? Number(cursor) : 0;
}

interface Look {
  readonly entries: readonly LogEntry[];
  /** Below which number to look on; null where the pool has no entry there. */
  readonly next: number | null;
}

async function lookAt(client: Client, query: LogQuery, below: number): Promise<Look> {
  const { segments, lowest, isEnd } = choose(await passBy(client, query, below), query, below);
  const texts = await readTexts(client, query.pool, segments);
  const entries: LogEntry[] = [];
  for (const { first, last } of segments) {
    const held = storedEntries(query.pool, texts.get(last) ?? '[]');
    for (let i = held.length - 1; i >= 0; i -= 1) {
      const entry = held[i];
      if (entry === undefined || first + i >= below || !isAskedFor(entry, query)) continue;
      entries.push(entry);
      if (entries.length === query.limit) {
        return { entries, next: isEnd && first + i === lowest ? null : first + i };
      }
    }
  }
  return { entries, next: isEnd ? null : lowest };
}

interface Segment {
  readonly first: number;
  readonly last: number;
}

/** A stretch of the pool's segments. */
interface Passage {
  /** Those of it that may hold what is asked for, newest first. */
  readonly segments: readonly Segment[];
  /** The lowest number of an entry in it. */
  readonly lowest: number;
  /** Whether the pool has no entry below it. */
  readonly isEnd: boolean;
}

async function passBy(client: Client, query: LogQuery, below: number): Promise<Passage> {
  const { pool, outcome, since, until } = query;
  // Each holds an entry that is asked for, where all are; one more tells whether it is the end.
  const passable = isFiltered(query) ? SEGMENTS_PASSED : query.limit + 1;
  // What the index does not hold comes last, so that a row is looked up only where it is needed.
  const passed = `WITH passed AS (
    SELECT last, last - count + 1 AS first,
      (?3 IS NULL OR at_last >= ?3) AND (?4 IS NULL OR at_first <= ?4)
        AND (?5 IS NULL OR instr(outcomes, ?5) > 0) AS is_wanted
    FROM log_segment
    WHERE pool = ?1 AND last < ?2 + ${SEGMENT_ENTRIES_MAX} AND last - count + 1 < ?2
    ORDER BY last DESC LIMIT ${passable}
  )`;
  const word = outcome === undefined ? null : `|${outcome}|`;
  const args = [pool, below, since ?? null, until ?? null, word];
  const wanted = await client.execute({
    sql: `${passed} SELECT first, last FROM passed WHERE is_wanted
      ORDER BY last DESC LIMIT ${SEGMENTS_READ}`,
    args,
  });
  const segments = wanted.rows.map(({ first, last }: Row) => ({
    first: Number(first),
    last: Number(last),
  }));
  const end = segments.at(-1);
  if (segments.length === SEGMENTS_READ && end !== undefined) {
    return { segments, lowest: end.first, isEnd: false };
  }
  const { rows: [whole] } = await client.execute({
    sql: `${passed} SELECT min(first) AS lowest, count(*) AS passed FROM passed`,
    args,
  });
  const isEnd = Number(whole?.passed) < passable;
  return { segments, lowest: Number(whole?.lowest ?? 0), isEnd };
}

/** As much of the passage as the page may need and a look may decode. */
function choose(passage: Passage, query: LogQuery, below: number): Passage {
  const enough = isFiltered(query) ? ENTRIES_DECODED : query.limit;
  const segments: Segment[] = [];
  let entries = 0;
  for (const segment of passage.segments) {
    if (entries >= enough) {
      return { segments, lowest: segments.at(-1)?.first ?? below, isEnd: false };
    }
    segments.push(segment);
    entries += Math.min(segment.last + 1, below) - segment.first;
  }
  return { ...passage, segments };
}

/** The entries of the segments, by the segment's last number. */
async function readTexts(
  client: Client,
  pool: string,
  segments: readonly Segment[],
): Promise<Map<number, string>> {
  if (segments.length === 0) return new Map();
  const { rows } = await client.execute({
    sql: `SELECT last, entries FROM log_segment
      WHERE pool = ?1 AND last IN (SELECT value FROM json_each(?2))`,
    args: [pool, JSON.stringify(segments.map(({ last }) => last))],
  });
  return new Map(rows.map((row: Row) => [Number(row.last), String(row.entries)]));
}

function isFiltered({ outcome, keyId, since, until }: LogQuery): boolean {
  return [outcome, keyId, since, until].some((filter) => filter !== undefined);
}

function isAskedFor(entry: LogEntry, { outcome, keyId, since, until }: LogQuery): boolean {
  return (outcome === undefined || entry.outcome === outcome) &&
    (keyId === undefined || entry.keyId === keyId) &&
    (since === undefined || entry.at >= since) && (until === undefined || entry.at <= until);
}

/** By a search of the index for each pool: to look at every segment would stop a server. */
export async function readLoggedPools(connection: Connection): Promise<string[]> {
  const { rows } = await connection.execute(
    `WITH RECURSIVE logged (pool) AS (
       SELECT min(pool) FROM log_segment UNION ALL
       SELECT (SELECT min(pool) FROM log_segment WHERE pool > logged.pool) FROM logged
       WHERE pool IS NOT NULL
     ) SELECT pool FROM logged WHERE pool IS NOT NULL`,
    [],
  );
  return rows.map((row) => String(row.pool));
}
