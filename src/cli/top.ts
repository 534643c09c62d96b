/**
 * `nthbouncer top`: all pools as a table that keeps itself up to date on a terminal; elsewhere it
 * is printed once.
 */
import { Option } from 'commander';
import { AdminClient } from './admin_client.ts';
import type { Row } from './admin_client.ts';
import type { Command } from './command.ts';
import { print } from './command.ts';
import { outlast } from './outlast.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson, tableOf } from './show.ts';
import { durationMs } from './duration.ts';
import { numberOf, textOf } from './fields.ts';
import { poolsNow, STATUS_COLUMNS } from './pool_commands.ts';

interface Options extends Shown {
  readonly every: number;
  readonly once?: boolean;
}

export const topCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'top', 'a live table of all pools, the busiest first')
      .addOption(
        new Option('--every <duration>', 'how often to ask').argParser(durationMs)
          .default(2_000, '2s'),
      )
      .option('--once', 'print it once')
      .action(top);
  },
};

const EVERY_MS_MIN = 200;

async function top(options: Options): Promise<void> {
  const client = new AdminClient();
  const isLive = Deno.stdout.isTerminal() && !options.once && !options.json;
  if (!isLive) {
    const rows = await busiest(client);
    if (options.json) return printJson(rows);
    for (const line of tableOf(rows, STATUS_COLUMNS)) print(line);
    return;
  }
  for (let rows = await busiest(client);; rows = await outlast(() => busiest(client))) {
    draw(rows, client.url);
    await new Promise((done) => setTimeout(done, Math.max(EVERY_MS_MIN, options.every)));
  }
}

async function busiest(client: AdminClient): Promise<Row[]> {
  const rows = (await poolsNow(client)).map(({ status }) => status);
  const weight = (row: Row) =>
    (numberOf(row, 'queued') ?? 0) * 1_000_000 + (numberOf(row, 'inUse') ?? 0);
  return rows.sort((a, b) =>
    weight(b) - weight(a) || (textOf(a, 'name') < textOf(b, 'name') ? -1 : 1)
  );
}

/** Some terminals do not know their size. */
function sizeOfTerminal(): { columns: number; rows: number } {
  const { columns, rows } = Deno.consoleSize();
  return { columns: columns || 80, rows: rows || 24 };
}

function draw(rows: readonly Row[], url: string): void {
  const { columns, rows: height } = sizeOfTerminal();
  const sum = (field: string) => rows.reduce((all, row) => all + (numberOf(row, field) ?? 0), 0);
  const head = `${url}  pools: ${rows.length}  in use: ${sum('inUse')}  queued: ${sum('queued')}`;
  const lines = [head, '', ...tableOf(rows, STATUS_COLUMNS)].slice(0, height - 1);
  // Home, every line with its old rest erased, and all below erased: nothing flickers.
  const text = lines.map((line) => `${line.slice(0, columns)}\x1b[K\n`).join('');
  Deno.stdout.writeSync(new TextEncoder().encode(`\x1b[H${text}\x1b[J`));
}
