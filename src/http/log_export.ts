/**
 * The access log as a file: CSV, whose cells no spreadsheet takes for a formula, or JSON lines.
 * Pages are read as the file is taken, up to a ceiling of rows; a file that ends there and not with
 * the log says so in its last line.
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
const CUT = `Cut here: an export has ${ROWS_MAX} rows at most, the newest. Narrow it, or page ` +
  'through the rest with GET /admin/api/pools/{pool}/log.';
/** Every field of a row of the log, as the API has them. */
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
  'tokens',
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

interface Form {
  readonly type: string;
  readonly head: string;
  readonly row: (entry: Json) => string;
  /** The last line of a file that not all rows went into. */
  readonly cut: string;
}

/** By the file's ending. */
const FORMS: Readonly<Record<string, Form>> = {
  csv: {
    type: 'text/csv; charset=utf-8',
    head: `${COLUMNS.join(',')}\r\n`,
    row: csvRow,
    cut: `${csvCell(CUT)}\r\n`,
  },
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    head: '',
    row: jsonLine,
    cut: jsonLine({ cut: CUT }),
  },
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
  const ending = (context.req.param('file') ?? '').replace('export.', '');
  const form = Object.hasOwn(FORMS, ending) ? FORMS[ending] : undefined;
  if (form === undefined) throw new Fault('not_found');
  // Read before the answer begins, so that what is asked amiss is refused rather than broken off.
  const first = await readRows(context, server, { cursor: '', most: PAGE_ROWS });
  const older = (cursor: string, most: number) => readRows(context, server, { cursor, most });
  const texts = textsOf(first, older, form);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await texts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
  return context.body(body, 200, {
    ...PAGE_HEADERS,
    'content-type': form.type,
    'content-disposition': `attachment; filename="${spec.name}-log.${ending}"`,
  });
}

/** The file in pieces, each of a page; of a page without rows there is none. */
async function* textsOf(
  first: Rows,
  older: (cursor: string, most: number) => Promise<Rows>,
  { head, row, cut }: Form,
): AsyncGenerator<string, void> {
  if (head !== '') yield head;
  let page = first;
  for (let rows = page.entries.length;; rows += page.entries.length) {
    if (page.entries.length > 0) yield page.entries.map(row).join('');
    if (page.next === null) return;
    if (rows >= ROWS_MAX) {
      yield cut;
      return;
    }
    page = await older(page.next, ROWS_MAX - rows);
  }
}

interface Rows {
  readonly entries: readonly Json[];
  /** Null where nothing is older. */
  readonly next: string | null;
}

async function readRows(
  context: Context,
  server: Server,
  { cursor, most }: { readonly cursor: string; readonly most: number },
): Promise<Rows> {
  const path = logPath(context, server, { limit: Math.min(PAGE_ROWS, most), cursor });
  const { entries, nextCursor } = await readApi(server, path);
  return { entries: entries as Json[], next: nextCursor as string | null };
}

function jsonLine(row: Json): string {
  return `${JSON.stringify(row)}\n`;
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
