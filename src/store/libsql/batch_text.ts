/**
 * How batches and log entries are written as JSON on the hot path: a row is an array, words that
 * recur stand once in a list, and instants and fences are told from a base. That is half the size
 * and half the time of plain objects. Cells are only ever added at the end of a row, so that what
 * an older program wrote can be read.
 */
import type { LogEntry } from '../entry.ts';
import type { Batch, LeaseRow, NonceRow } from '../store.ts';

type Cell = string | number | null;
type Row = Cell[];
type NonceCells = [pool: string, nonce: string, until: number];
/** Base instant, words, entries. */
type EntriesBody = [number, string[], Row[]];
/** Fence, base fence, base instant, words, leases, ended, entries; nonces where there are any. */
type BatchBody = [number, number, number, string[], Row[], readonly string[], Row[], NonceCells[]?];

/** The words of one text; a cell holds a word's number, or 0 for null. */
class Words {
  readonly list: string[];
  readonly #numbers = new Map<string, number>();

  constructor(list: string[] = []) {
    this.list = list;
  }

  wordOf(cell: Cell | undefined): string | null {
    return this.list[Number(cell) - 1] ?? null;
  }

  cellOf(word: string | null): number {
    if (word === null) return 0;
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.list.push(word);
      this.#numbers.set(word, number);
    }
    return number;
  }
}

/** Leases outside a batch hold their words themselves. */
const plainWords = {
  cellOf: (word: string | null): Cell => word,
  wordOf: (cell: Cell | undefined): string | null => typeof cell === 'string' ? cell : null,
};
const noBases = { baseFence: 0, base: 0 };

export function batchText({ fence, leases, ended, entries, nonces = [] }: Batch): string {
  const words = new Words();
  const baseFence = leases[0]?.fence ?? 0;
  const base = entries[0]?.at ?? leases[0]?.grantedAt ?? 0;
  const body: BatchBody = [
    fence,
    baseFence,
    base,
    words.list,
    leases.map((row) => leaseCells(row, words, { baseFence, base })),
    ended,
    entries.map((entry) => entryCells(entry, words, base)),
  ];
  if (nonces.length > 0) body.push(nonces.map(nonceCells));
  return JSON.stringify(body);
}

export function batchOf(text: string): Batch {
  const body = JSON.parse(text) as BatchBody;
  const [fence, baseFence, base, list, leases, ended, entries, nonces = []] = body;
  const words = new Words(list);
  return {
    fence,
    leases: leases.map((cells) => leaseOf(cells, words, { baseFence, base })),
    ended,
    entries: entries.map((cells) => entryOf(cells, words, base)),
    ...(nonces.length === 0 ? {} : { nonces: nonces.map(nonceOf) }),
  };
}

/** A JSON array of nonces, each as pool, nonce and until. */
export function noncesText(nonces: readonly NonceRow[]): string {
  return JSON.stringify(nonces.map(nonceCells));
}

/** A JSON array of leases; each of its elements can be read by {@link leaseOfText}. */
export function leasesText(leases: Iterable<LeaseRow>): string {
  return JSON.stringify(Array.from(leases, (row) => leaseCells(row, plainWords, noBases)));
}

export function leaseOfText(text: string): LeaseRow {
  return leaseOf(JSON.parse(text) as Row, plainWords, noBases);
}

export function entriesText(entries: readonly LogEntry[]): string {
  const words = new Words();
  const base = entries[0]?.at ?? 0;
  const rows = entries.map((entry) => entryCells(entry, words, base));
  const body: EntriesBody = [base, words.list, rows];
  return JSON.stringify(body);
}

export function entriesOf(text: string): LogEntry[] {
  const [base, list, rows] = JSON.parse(text) as EntriesBody;
  const words = new Words(list);
  return rows.map((cells) => entryOf(cells, words, base));
}

type LeaseWords = Pick<Words, 'cellOf' | 'wordOf'> | typeof plainWords;

interface Bases {
  readonly baseFence: number;
  readonly base: number;
}

function nonceCells({ pool, nonce, until }: NonceRow): NonceCells {
  return [pool, nonce, until];
}

function nonceOf([pool, nonce, until]: NonceCells): NonceRow {
  return { pool, nonce, until };
}

/** 12 cells, a 13th where its acquire may be repeated. */
function leaseCells(row: LeaseRow, words: LeaseWords, { baseFence, base }: Bases): Row {
  const cells: Row = [
    row.slotId,
    words.cellOf(row.pool),
    row.slots,
    row.fence - baseFence,
    row.attempt,
    words.cellOf(row.keyId),
    words.cellOf(row.holder),
    row.grantedAt - base,
    row.termMs,
    row.requestDeadline - row.grantedAt,
    row.inFlight,
    row.tokens,
  ];
  if (row.repeatKey !== undefined) cells.push(row.repeatKey);
  return cells;
}

function leaseOf(cells: Row, words: LeaseWords, { baseFence, base }: Bases): LeaseRow {
  const [slotId, pool, slots, fence, attempt, keyId, holder, ...rest] = cells;
  const [grantedAfter, termMs, deadlineAfter, inFlight, tokens] = rest.map(Number);
  const grantedAt = base + (grantedAfter ?? 0);
  const repeatKey = cells[12];
  return {
    slotId: String(slotId),
    pool: words.wordOf(pool) ?? '',
    slots: Number(slots),
    fence: baseFence + Number(fence),
    attempt: String(attempt),
    keyId: words.wordOf(keyId),
    holder: words.wordOf(holder),
    grantedAt,
    termMs: termMs ?? 0,
    requestDeadline: grantedAt + (deadlineAfter ?? 0),
    inFlight: inFlight ?? 0,
    tokens: tokens ?? 0,
    ...(typeof repeatKey === 'string' ? { repeatKey } : {}),
  };
}

/** 12 cells, a 13th where it stands for several, one more of tokens, or 7 where it was proxied. */
function entryCells(entry: LogEntry, words: Words, base: number): Row {
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

function entryOf(cells: Row, words: Words, base: number): LogEntry {
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
