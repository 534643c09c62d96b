/**
 * Batches and leases as text. Instants and fences are told from a base, which makes them short.
 */
import type { Batch, LeaseRow, NonceRow } from '../store.ts';
import { type EntriesBody, entriesOfBody, type EntryRun } from './entries_text.ts';
import { type Cell, type Row, Words } from './words.ts';

type NonceCells = [pool: string, nonce: string, until: number];
/** Fence, base fence, base instant, words, leases, ended, runs; nonces where there are any. */
type BatchBody = [
  number,
  number,
  number,
  string[],
  Row[],
  readonly string[],
  EntriesBody,
  NonceCells[]?,
];

/** Leases outside a batch hold their words themselves. */
const plainWords = {
  cellOf: (word: string | null): Cell => word,
  wordOf: (cell: Cell | undefined): string | null => typeof cell === 'string' ? cell : null,
};
const noBases = { baseFence: 0, base: 0 };

/** @param runs the batch's entries, as they are kept for the fold, too. */
export function batchText(
  { fence, leases, ended, nonces = [] }: Omit<Batch, 'entries'>,
  runs: readonly EntryRun[],
): string {
  const words = new Words();
  const baseFence = leases[0]?.fence ?? 0;
  const base = leases[0]?.grantedAt ?? 0;
  const rows = leases.map((row) => leaseCells(row, words, { baseFence, base }));
  // The runs are text already, and stand where the array goes on.
  const begin = JSON.stringify([fence, baseFence, base, words.list, rows, ended]).slice(0, -1);
  const entries = runs.map(({ text }) => text).join();
  const end = nonces.length === 0 ? '' : `,${noncesText(nonces)}`;
  return `${begin},[${entries}]${end}]`;
}

export function batchOf(text: string): Batch {
  const body = JSON.parse(text) as BatchBody;
  const [fence, baseFence, base, list, leases, ended, entries, nonces = []] = body;
  const words = new Words(list);
  return {
    fence,
    leases: leases.map((cells) => leaseOf(cells, words, { baseFence, base })),
    ended,
    entries: entriesOfBody(entries, { words, base }),
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
