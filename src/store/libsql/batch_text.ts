/**
 * How batches, leases and log entries are written as JSON: arrays in a fixed order, which is
 * smaller and quicker than objects. Fields are only ever added at the end of an array, so that
 * what an older program wrote can be read.
 */
import type { LogEntry, ProxiedEntry } from '../entry.ts';
import type { Batch, LeaseRow } from '../store.ts';

type Cell = string | number | null;
type Row = Cell[];

export function batchText(batch: Batch): string {
  return JSON.stringify([
    batch.fence,
    batch.leases.map(leaseCells),
    batch.ended,
    batch.entries.map(entryCells),
  ]);
}

export function batchOf(text: string): Batch {
  const [fence, leases, ended, entries] = JSON.parse(text) as [number, Row[], string[], Row[]];
  return { fence, leases: leases.map(leaseOf), ended, entries: entries.map(entryOf) };
}

export function leasesText(leases: Iterable<LeaseRow>): string {
  return JSON.stringify(Array.from(leases, leaseCells));
}

export function leaseOfText(text: string): LeaseRow {
  return leaseOf(JSON.parse(text) as Row);
}

export function entriesText(entries: readonly LogEntry[]): string {
  return JSON.stringify(entries.map(entryCells));
}

export function entriesOf(text: string): LogEntry[] {
  return (JSON.parse(text) as Row[]).map(entryOf);
}

function leaseCells(row: LeaseRow): Row {
  return [
    row.slotId,
    row.pool,
    row.slots,
    row.fence,
    row.attempt,
    row.keyId,
    row.holder,
    row.grantedAt,
    row.termMs,
    row.requestDeadline,
    row.inFlight,
    row.tokens,
  ];
}

function leaseOf(cells: Row): LeaseRow {
  const c = cells as [
    string,
    string,
    number,
    number,
    string,
    string | null,
    string | null,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    slotId: c[0],
    pool: c[1],
    slots: c[2],
    fence: c[3],
    attempt: c[4],
    keyId: c[5],
    holder: c[6],
    grantedAt: c[7],
    termMs: c[8],
    requestDeadline: c[9],
    inFlight: c[10],
    tokens: c[11],
  };
}

/** 12 cells, a 13th where it stands for several, 7 more where it was proxied. */
function entryCells(entry: LogEntry): Row {
  const cells: Row = [
    entry.id,
    entry.at,
    entry.pool,
    entry.kind,
    entry.outcome,
    entry.status,
    entry.reason,
    entry.queuedMs,
    entry.slots,
    entry.keyId,
    entry.address,
    entry.holder,
  ];
  const { count, proxied } = entry;
  if (count !== undefined || proxied !== undefined) cells.push(count ?? null);
  if (proxied !== undefined) {
    const { method, path, upstreamStatus, durationMs, bytesIn, bytesOut, credential } = proxied;
    cells.push(method, path, upstreamStatus, durationMs, bytesIn, bytesOut, credential);
  }
  return cells;
}

function entryOf(cells: Row): LogEntry {
  const c = cells as [
    string,
    number,
    string,
    LogEntry['kind'],
    string,
    number | null,
    string | null,
    number,
    number,
    string | null,
    string | null,
    string | null,
    ...Row,
  ];
  const count = c[12];
  return {
    id: c[0],
    at: c[1],
    pool: c[2],
    kind: c[3],
    outcome: c[4],
    status: c[5],
    reason: c[6],
    queuedMs: c[7],
    slots: c[8],
    keyId: c[9],
    address: c[10],
    holder: c[11],
    ...(c.length > 13 ? { proxied: proxiedOf(c.slice(13)) } : {}),
    ...(typeof count === 'number' ? { count } : {}),
  };
}

function proxiedOf(cells: Row): ProxiedEntry {
  const c = cells as [string, string, number | null, number, number, number, string | null];
  return {
    method: c[0],
    path: c[1],
    upstreamStatus: c[2],
    durationMs: c[3],
    bytesIn: c[4],
    bytesOut: c[5],
    credential: c[6],
  };
}
