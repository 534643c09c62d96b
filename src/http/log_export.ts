/**
 * The access log as a file: CSV, whose cells no spreadsheet takes for a formula, or JSON lines.
 * Pages are read as the file is taken, up to a ceiling.
 */
import type { Context } from 'hono';
import { entryOf } from './admin_body.ts';
import { Fault, wrongField } from './fault.ts';
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
  'tokens',
];
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** Where a page of the log is read, narrowed as the query says. @throws Fault */
export function logPath(
  context: Context,
  server: Server,
  { limit, cursor }: { readonly limit: number; readonly cursor: string },
): string {
  const { outcome = '', keyId = '', minutes = '' } = context.req.query();
  if (!/^\d{0,6}$/.test(minutes)) {
    const reason = 'must be a whole number of at most 6 digits';
    throw new Fault('invalid_request', wrongField('minutes', reason));
  }
  const since = Number(minutes) > 0 ? String(epochMs(server) - Number(minutes) * 60_000) : '';
  const asked = Object.entries({ outcome, keyId, since, cursor, limit: String(limit) })
    .filter(([, value]) => value !== '');
  const pool = encodeURIComponent(context.req.param('pool') ?? '');
  return `/pools/${pool}/log?${new URLSearchParams(asked)}`;
}

export async function exportLog(context: Context, server: Server): Promise<Response> {
  const { spec } = entryOf(context, server);
  const form = (context.req.param('file') ?? '').replace('export.', '');
  const type = Object.hasOwn(TYPES, form) ? TYPES[form] : undefined;
  if (type === undefined) throw new Fault('not_found');
  const row = form === 'csv' ? csvRow : (entry: Json) => `${JSON.stringify(entry)}\n`;
  const encoder = new TextEncoder();
  const read = (cursor: string) =>
    readApi(server, logPath(context, server, { limit: PAGE_ROWS, cursor }));
  // Read before the answer begins, so that what is asked amiss is refused rather than broken off.
  let page: Json | null = await read('');
  let left = ROWS_MAX;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (form === 'csv') controller.enqueue(encoder.encode(`${COLUMNS.join(',')}\r\n`));
    },
    pull: async (controller) => {
      // Of a narrow filter many pages in a row may be empty.
      for (let sent = 0; sent === 0;) {
        if (page === null) return controller.close();
        const entries = (page['entries'] as Json[]).slice(0, left);
        const next = page['nextCursor'] as string | null;
        sent = entries.length;
        left -= sent;
        if (sent > 0) controller.enqueue(encoder.encode(entries.map(row).join('')));
        page = next === null || left === 0 ? null : await read(next);
      }
    },
    cancel: () => {
      page = null;
      left = 0;
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
