/**
 * The access log as a file: CSV, whose cells no spreadsheet takes for a formula, or JSON lines.
 * Pages are read as the file is taken, up to a ceiling.
 */
import type { Context } from 'hono';
import { entryOf } from './admin_body.ts';
import { Fault } from './fault.ts';
import { readApi } from './inside.ts';
import type { Json } from '../admin/shapes.ts';
import { PAGE_HEADERS } from './page_answer.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';

const ROWS_MAX = 100_000;
const PAGE_ROWS = 1_000;
const COLUMNS = [
  'id',
  'at',
  'pool',
  'kind',
  'outcome',
  'status',
  'reason',
  'queuedMs',
  'slots',
  'keyId',
  'address',
  'holder',
  'method',
  'path',
  'upstreamStatus',
  'durationMs',
  'bytesIn',
  'bytesOut',
  'credential',
  'count',
];
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** What the log's page and its export may be narrowed to. */
export function logPath(context: Context, server: Server, limit: number): string {
  const { outcome = '', keyId = '', minutes = '', cursor = '' } = context.req.query();
  const since = Number(minutes) > 0 ? String(epochMs(server) - Number(minutes) * 60_000) : '';
  const asked = Object.entries({ outcome, keyId, since, cursor, limit: String(limit) })
    .filter(([, value]) => value !== '');
  const pool = encodeURIComponent(context.req.param('pool') ?? '');
  return `/pools/${pool}/log?${new URLSearchParams(asked)}`;
}

export function exportLog(context: Context, server: Server): Response {
  const { spec } = entryOf(context, server);
  const form = (context.req.param('file') ?? '').replace('export.', '');
  const type = Object.hasOwn(TYPES, form) ? TYPES[form] : undefined;
  if (type === undefined) throw new Fault('not_found');
  const row = form === 'csv' ? csvRow : (entry: Json) => `${JSON.stringify(entry)}\n`;
  const encoder = new TextEncoder();
  const path = logPath(context, server, PAGE_ROWS);
  let cursor: string | null = '';
  let rows = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (form === 'csv') controller.enqueue(encoder.encode(`${COLUMNS.join(',')}\r\n`));
    },
    pull: async (controller) => {
      for (let sent = 0; sent === 0;) {
        if (cursor === null || rows >= ROWS_MAX) return controller.close();
        const page = await readApi(server, cursor === '' ? path : `${path}&cursor=${cursor}`);
        cursor = page['nextCursor'] as string | null;
        const entries = page['entries'] as Json[];
        rows += PAGE_ROWS;
        if (entries.length > 0) controller.enqueue(encoder.encode(entries.map(row).join('')));
        sent = entries.length;
      }
    },
  });
  return context.body(body, 200, {
    ...PAGE_HEADERS,
    'content-type': type,
    'content-disposition': `attachment; filename="${spec.name}-log.${form}"`,
  });
}

function csvRow(entry: Json): string {
  return `${COLUMNS.map((name) => csvCell(entry[name])).join(',')}\r\n`;
}

/** A cell that begins like a formula gets an apostrophe, so that it stays text. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = String(value);
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
