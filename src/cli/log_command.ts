/**
 * `nthbouncer log POOL`: the access log, oldest of the page first, and with `-f` what comes on top
 * of it. Following asks once a second, and shows every entry once.
 */
import { InvalidArgumentError } from 'commander';
import { LOGGED_OUTCOMES } from '../errors.ts';
import { AdminClient, poolPath } from './admin_client.ts';
import type { Row } from './admin_client.ts';
import type { Command } from './command.ts';
import { print } from './command.ts';
import { outlast } from './outlast.ts';
import type { Column, Shown } from './show.ts';
import { consoleCommand, count, tableOf } from './show.ts';
import { durationMs } from './duration.ts';
import { instantOf, numberOf, rowsOf, textOf } from './fields.ts';
import { serverNowMs } from './server_time.ts';

interface Options extends Shown {
  readonly follow?: boolean;
  readonly limit: number;
  readonly outcome?: string;
  readonly since?: number;
}

interface Printed extends Shown {
  readonly isFirst?: boolean;
}

export const logCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'log', 'who asked, and what was answered').argument('<pool>')
      .option('-f, --follow', 'go on with what comes')
      .option('-n, --limit <number>', 'how many entries, 1 to 1000', count, 20)
      .option('--outcome <code>', 'granted, too_many_requests, …', outcome)
      .option('--since <duration>', 'not older than, 5m say', durationMs)
      .action(show);
  },
};

function outcome(text: string): string {
  if (LOGGED_OUTCOMES.some((one) => one === text)) return text;
  throw new InvalidArgumentError(`It must be one of ${LOGGED_OUTCOMES.join(', ')}.`);
}

const POLL_MS = 1_000;
const PAGE = 1_000;
/** What was logged within a second or two: more than that is not shown as it comes. */
const FOLLOWED_MAX = 20_000;
/** An entry may become visible so long after its instant. */
const LATE_MS = 5_000;

async function show(pool: string, options: Options): Promise<void> {
  const client = new AdminClient();
  const path = poolPath(pool, 'log');
  const query: Record<string, string> = {};
  if (options.outcome !== undefined) query['outcome'] = options.outcome;
  if (options.since !== undefined) {
    query['since'] = String(await serverNowMs(client) - options.since);
  }
  // What was there already is no news, whether or not it is among the entries that were asked for.
  const atMs = options.follow ? await serverNowMs(client) : 0;
  const before = options.follow
    ? await newest(client, path, { ...query, since: String(atMs - LATE_MS) })
    : [];
  const first = await newest(client, path, query, options.limit);
  if (first.length === 0 && !options.follow && !options.json) print('No attempt is in the log.');
  else printEntries(first.toReversed(), { ...options, isFirst: true });
  if (!options.follow) return;
  const fresh = new Fresh([...before, ...first], atMs);
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    const later = { ...query, since: String(fresh.sinceMs) };
    printEntries(fresh.take(await outlast(() => newest(client, path, later))), options);
  }
}

/**
 * The newest entries that the query asks for, newest first. A page of it may be short, even empty,
 * and another come after it.
 */
export async function newest(
  client: Pick<AdminClient, 'get'>,
  path: string,
  query: Readonly<Record<string, string>>,
  most = FOLLOWED_MAX,
): Promise<Row[]> {
  const found: Row[] = [];
  let cursor: string | null = null;
  do {
    const words = new URLSearchParams({
      ...query,
      limit: String(Math.min(PAGE, most - found.length)),
      ...(cursor === null ? {} : { cursor }),
    });
    const answer = await client.get(`${path}?${words}`);
    found.push(...rowsOf(answer, 'entries'));
    cursor = typeof answer['nextCursor'] === 'string' ? answer['nextCursor'] : null;
  } while (cursor !== null && found.length < most);
  return found;
}

/** Tells new entries from those that were there before. */
export class Fresh {
  #shown: Map<string, number>;
  #newestMs: number;

  /**
   * @param there what was there when the following began, at `nowMs`. It may be old, however new
   * the newest of it is: what is older still was there as well, and is no news.
   */
  constructor(there: readonly Row[], nowMs: number) {
    this.#shown = new Map(there.map((row) => [textOf(row, 'id'), numberOf(row, 'at') ?? 0]));
    this.#newestMs = Math.max(nowMs, ...this.#shown.values());
  }

  /** What to ask for: later entries, and those that may have come late. */
  get sinceMs(): number {
    return this.#newestMs - LATE_MS;
  }

  /** Of entries newest first, those that were not shown yet, oldest first. */
  take(found: readonly Row[]): Row[] {
    const fresh = found.filter((row) => !this.#shown.has(textOf(row, 'id'))).toReversed();
    for (const row of fresh) {
      const atMs = numberOf(row, 'at') ?? 0;
      this.#shown.set(textOf(row, 'id'), atMs);
      this.#newestMs = Math.max(this.#newestMs, atMs);
    }
    for (const [id, atMs] of this.#shown) {
      if (atMs < this.sinceMs) this.#shown.delete(id);
    }
    return fresh;
  }
}

/** Cells are as wide as their titles at least, so that what is printed later stands below. */
export const COLUMNS: readonly Column[] = [
  ['AT                  ', (row) => instantOf(row, 'at')],
  ['OUTCOME          ', (row) => textOf(row, 'outcome').padEnd(17)],
  ['WHY        ', (row) => textOf(row, 'reason').padEnd(11)],
  // How many refusals a summary row stands for.
  ['COUNT', (row) => textOf(row, 'count').padStart(5)],
  ['   QUEUED', (row) => `${textOf(row, 'queuedMs')} ms`.padStart(9)],
  ['SLOTS', (row) => textOf(row, 'slots').padStart(5)],
  ['ADDRESS        ', (row) => textOf(row, 'address').padEnd(15)],
  ['UPSTREAM', (row) => textOf(row, 'upstreamStatus').padStart(8)],
  ['CREDENTIAL', (row) => textOf(row, 'credential').padEnd(10)],
  ['HOLDER OR REQUEST', (row) => askedBy(row).padEnd(17)],
];

/** Who holds a slot by the lock door, or what a proxied call asked the upstream for. */
function askedBy(row: Row): string {
  if (row['method'] === undefined) return textOf(row, 'holder');
  return `${textOf(row, 'method')} ${textOf(row, 'path')}`;
}

/** Prints rows, the first of all below the titles. */
function printEntries(rows: readonly Row[], { json, isFirst = false }: Printed): void {
  if (json) { for (const row of rows) print(JSON.stringify(row)); }
  else for (const line of tableOf(rows, COLUMNS).slice(isFirst ? 0 : 1)) print(line);
}
