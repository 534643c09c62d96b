/**
 * Log entries as text. Each is written once, in a run with those of its pool that were committed
 * with it; a fold then only joins the runs' texts, so that between commit and fold nothing is kept
 * but a few strings. What an older program wrote can be read: a row for each entry where a run
 * stands now. An older program cannot read this, and is kept away by the schema.
 */
import { log } from '../../log.ts';
import type { LogEntry } from '../entry.ts';
import { type Row, Words } from './words.ts';

/** Entries of a run, and of a segment of the log, at most. */
export const RUN_ENTRIES_MAX = 500;
/** Runs of fewer on the average are written anew as one, since each repeats its words. */
const JOINED_BELOW = 4;

/** Base instant, words, entries. */
type RunBody = [base: number, words: string[], rows: Row[]];
/** Rows are an older program's. */
export type EntriesBody = (RunBody | Row)[];

/** Entries of one pool as they were logged, oldest first. */
export interface EntryRun {
  readonly pool: string;
  readonly count: number;
  /** The earliest and the latest instant in it. */
  readonly atFirst: number;
  readonly atLast: number;
  readonly outcomes: ReadonlySet<string>;
  /** The highest of the entries' ids: numbers in base 36. */
  readonly newestId: string;
  readonly text: string;
}

/** The entries as runs: at least one for each pool. */
export function runsOf(entries: readonly LogEntry[]): EntryRun[] {
  const runs: EntryRun[] = [];
  for (const [pool, list] of byPool(entries)) {
    for (let i = 0; i < list.length; i += RUN_ENTRIES_MAX) {
      runs.push(runOf(pool, list.slice(i, i + RUN_ENTRIES_MAX)));
    }
  }
  return runs;
}

/** Several runs of one pool as one text that {@link storedEntries} reads. */
export function runsText(runs: readonly EntryRun[]): string {
  const text = `[${runs.map((run) => run.text).join()}]`;
  const count = runs.reduce((sum, run) => sum + run.count, 0);
  if (runs.length < 2 || count >= JOINED_BELOW * runs.length) return text;
  return `[${runText(entriesOf(text))}]`;
}

/** The entries of a segment; none where what is stored of it cannot be read. */
export function storedEntries(pool: string, text: string): LogEntry[] {
  try {
    return entriesOf(text);
  } catch {
    log.warn('the access log of {pool} lacks some entries: what is stored cannot be read', {
      pool,
    });
    return [];
  }
}

export function entriesOf(text: string): LogEntry[] {
  const body = JSON.parse(text) as RunBody[] | RunBody;
  return isRun(body) ? entriesOfRun(body) : body.flatMap(entriesOfRun);
}

/** The entries of a batch's body. @param from what an older program's rows are told from. */
export function entriesOfBody(body: EntriesBody, from: RowContext): LogEntry[] {
  return body.flatMap((each) => isRun(each) ? entriesOfRun(each) : entryOf(each, from));
}

interface RowContext {
  readonly words: Words;
  readonly base: number;
}

function isRun(body: RunBody | RunBody[] | Row): body is RunBody {
  return typeof body[0] === 'number';
}

function byPool(entries: readonly LogEntry[]): Map<string, LogEntry[]> {
  const lists = new Map<string, LogEntry[]>();
  for (const entry of entries) {
    const list = lists.get(entry.pool);
    if (list === undefined) lists.set(entry.pool, [entry]);
    else list.push(entry);
  }
  return lists;
}

function runOf(pool: string, entries: readonly LogEntry[]): EntryRun {
  let atFirst = Infinity;
  let atLast = -Infinity;
  let newestId = '0';
  const outcomes = new Set<string>();
  for (const { id, at, outcome } of entries) {
    if (at < atFirst) atFirst = at;
    if (at > atLast) atLast = at;
    if (isLater(id, newestId)) newestId = id;
    outcomes.add(outcome);
  }
  const text = runText(entries);
  return { pool, count: entries.length, atFirst, atLast, outcomes, newestId, text };
}

/** Whether one number in base 36 is greater than another; cheaper than to parse both. */
export function isLater(id: string, than: string): boolean {
  return id.length === than.length ? id > than : id.length > than.length;
}

function runText(entries: readonly LogEntry[]): string {
  const words = new Words();
  const base = entries[0]?.at ?? 0;
  const rows = entries.map((entry) => cellsOf(entry, words, base));
  const body: RunBody = [base, words.list, rows];
  return JSON.stringify(body);
}

function entriesOfRun([base, list, rows]: RunBody): LogEntry[] {
  const words = new Words(list);
  return rows.map((cells) => entryOf(cells, { words, base }));
}

/** 12 cells, a 13th where it stands for several, one more of tokens, or 7 where it was proxied. */
function cellsOf(entry: LogEntry, words: Words, base: number): Row {
  const cells: Row = [
    entry.id,
    entry.at - base,
    words.cellOf(entry.pool),
    words.cellOf(entry.kind),
    words.cellOf(entry.outcome),
    entry.status,
    words.cellOf(entry.reason),
    entry.queuedMs,
    entry.slots,
    words.cellOf(entry.keyId),
    words.cellOf(entry.address),
    words.cellOf(entry.holder),
  ];
  const { count, proxied, tokens } = entry;
  const isLonger = proxied !== undefined || tokens !== undefined;
  if (count !== undefined || isLonger) cells.push(count ?? null);
  if (proxied === undefined && tokens !== undefined) cells.push(tokens);
  if (proxied !== undefined) {
    cells.push(
      words.cellOf(proxied.method),
      proxied.path,
      proxied.upstreamStatus,
      proxied.durationMs,
      proxied.bytesIn,
      proxied.bytesOut,
      words.cellOf(proxied.credential),
    );
  }
  return cells;
}

function entryOf(cells: Row, { words, base }: RowContext): LogEntry {
  const word = (i: number) => words.wordOf(cells[i]);
  const [id, after] = cells;
  const [status, queuedMs, slots, count] = [cells[5], cells[7], cells[8], cells[12]];
  const proxied = cells.length > 14
    ? {
      method: word(13) ?? '',
      path: String(cells[14]),
      upstreamStatus: cells[15] === null ? null : Number(cells[15]),
      durationMs: Number(cells[16]),
      bytesIn: Number(cells[17]),
      bytesOut: Number(cells[18]),
      credential: word(19),
    }
    : undefined;
  return {
    id: String(id),
    at: base + Number(after),
    pool: word(2) ?? '',
    kind: word(3) === 'proxy' ? 'proxy' : 'lock',
    outcome: word(4) ?? '',
    status: status === null ? null : Number(status),
    reason: word(6),
    queuedMs: Number(queuedMs),
    slots: Number(slots),
    keyId: word(9),
    address: word(10),
    holder: word(11),
    ...(proxied === undefined ? {} : { proxied }),
    ...(typeof count === 'number' ? { count } : {}),
    ...(cells.length === 14 ? { tokens: Number(cells[13]) } : {}),
  };
}
