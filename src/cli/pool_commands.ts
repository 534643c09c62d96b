/**
 * `nthbouncer pool …`: lists, shows, makes, changes, pauses, resumes, drains and deletes pools.
 */
import type { Command as Program } from 'commander';
import { openTo } from '../open_pool.ts';
import type { AccessSpec } from '../wire_access.ts';
import type { Row } from './admin_client.ts';
import { AdminClient, poolPath, Refusal } from './admin_client.ts';
import type { Command } from './command.ts';
import { EXIT, print, printError, Stop } from './command.ts';
import type { Column, Shown } from './show.ts';
import { consoleCommand, printJson, printTable } from './show.ts';
import { durationMs } from './duration.ts';
import { fieldOf, instantOf, numberOf, rowsOf, spanOf, textOf } from './fields.ts';
import { credentialsGates, refusing } from './gates.ts';
import { serverNowMs } from './server_time.ts';
import { settingsOf } from './settings_words.ts';
import { isObject } from '../json.ts';

export const poolCommand: Command = {
  add: (program) => {
    const pool = program.command('pool').description('list, make and change pools');
    consoleCommand(pool, 'list', 'all pools, with what they do now').action(list);
    consoleCommand(pool, 'show', 'the settings of a pool').argument('<pool>').action(show);
    consoleCommand(pool, 'create', 'make a pool').argument('<pool>')
      .argument('[setting...]', 'such as concurrency.limit=4').action(create);
    consoleCommand(pool, 'set', 'change settings, at once').argument('<pool>')
      .argument('<setting...>', 'such as concurrency.limit=8; null: back to the default')
      .action(change);
    addPauses(pool);
    consoleCommand(pool, 'delete', 'delete a pool with its keys; its waiters are refused')
      .argument('<pool>')
      .option('--yes', 'do not ask')
      .action(remove);
  },
};

function addPauses(pool: Program): void {
  consoleCommand(pool, 'pause', 'grant nothing; waiters keep their place').argument('<pool>')
    .option('--for <duration>', 'go on by itself after it', durationMs)
    .option('--reason <text>', 'what administrators see')
    .action(pause);
  consoleCommand(pool, 'resume', 'grant again').argument('<pool>').action(resume);
  consoleCommand(pool, 'drain', 'pause, and wait until nothing is in use').argument('<pool>')
    .action(drain);
}

type Asked = Pick<AdminClient, 'get'>;

/** All pools, their settings and what they do now, less those that are deleted meanwhile. */
export async function poolsNow(client: Asked): Promise<{ spec: Row; status: Row }[]> {
  const specs = rowsOf(await client.get('/pools'), 'pools');
  const found = await Promise.all(specs.map(async (spec) => {
    const status = await statusOf(client, spec);
    return status === null ? [] : [{ spec, status }];
  }));
  return found.flat();
}

/** null where the pool is gone. */
async function statusOf(client: Asked, spec: Row): Promise<Row | null> {
  const name = textOf(spec, 'name');
  try {
    const status = await client.get(poolPath(name, 'status'));
    return { name, mode: fieldOf(spec, 'concurrency.mode'), ...status };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return null;
    throw error;
  }
}

export const STATUS_COLUMNS: readonly Column[] = [
  ['POOL', (row) => textOf(row, 'name')],
  ['IN USE', (row) => textOf(row, 'inUse')],
  ['LIMIT', (row) => textOf(row, 'effectiveLimit')],
  ['QUEUED', (row) => textOf(row, 'queued')],
  ['OLDEST', (row) => numberOf(row, 'queued') === 0 ? '-' : spanOf(row, 'oldestWaitMs')],
  ['RPM', (row) => textOf(row, 'rpm')],
  ['STATE', (row) => stateOf(row).state],
  ['WHY', (row) => stateOf(row).why],
];

/** One word for what the operator or the upstream's answers shut, and why the pool holds back. */
function stateOf(status: Row): { state: string; why: string } {
  const why = textOf(status, 'reason');
  if (fieldOf(status, 'paused') === true) return { state: 'paused', why };
  const shut = refusing(credentialsGates(status));
  return shut === null ? { state: 'open', why } : { state: 'no credential', why: shut.why };
}

async function list({ json }: Shown): Promise<void> {
  const rows = (await poolsNow(new AdminClient())).map(({ status }) => status);
  if (json) return printJson(rows);
  printTable(rows, STATUS_COLUMNS, 'There is no pool yet: nthbouncer pool create NAME');
}

async function show(name: string, { json }: Shown): Promise<void> {
  const spec = await new AdminClient().get(poolPath(name));
  if (json) return printJson(spec);
  const open = openTo(spec['access'] as AccessSpec);
  if (open !== null) printError(`warning: ${name} wants no key: ${open} may call it`);
  for (const [path, value] of leavesOf(spec)) print(`${path}=${JSON.stringify(value)}`);
}

/** The settings as `pool set` takes them. */
function leavesOf(row: Row, before = ''): [string, unknown][] {
  return Object.entries(row).flatMap(([name, value]) => {
    const isFull = isObject(value) && Object.keys(value).length > 0;
    return isFull ? leavesOf(value, `${before}${name}.`) : [[`${before}${name}`, value]];
  });
}

async function create(name: string, words: string[], { json }: Shown): Promise<void> {
  const settings = settingsOf(words);
  const spec = await new AdminClient().post('/pools', { ...settings, name });
  if (json) return printJson(spec);
  print(`made the pool ${name}; a key for it: nthbouncer key create ${name} --name NAME`);
}

async function change(name: string, words: string[], { json }: Shown): Promise<void> {
  const body = settingsOf(words);
  const spec = await new AdminClient().call('PATCH', poolPath(name), body);
  if (json) return printJson(spec);
  print(`changed the pool ${name}`);
}

async function pause(
  name: string,
  { json, for: forMs, reason }: Shown & { for?: number; reason?: string },
): Promise<void> {
  const client = new AdminClient();
  const untilMs = forMs === undefined ? null : await serverNowMs(client) + forMs;
  const answer = await client.post(poolPath(name, 'pause'), { untilMs, reason: reason ?? null });
  if (json) return printJson(answer);
  const until = untilMs === null ? 'until it is resumed' : `until ${instantOf(answer, 'untilMs')}`;
  print(`paused the pool ${name} ${until}`);
}

async function resume(name: string, { json }: Shown): Promise<void> {
  const answer = await new AdminClient().post(poolPath(name, 'resume'));
  if (json) return printJson(answer);
  print(`resumed the pool ${name}`);
}

const DRAIN_ASK_MS = 500;

async function drain(name: string, { json }: Shown): Promise<void> {
  const client = new AdminClient();
  // Asked again and again rather than once for long, so that a server that is gone is noticed.
  await client.post(poolPath(name, 'pause'), { reason: 'draining' });
  for (;;) {
    const status = await client.get(poolPath(name, 'status'));
    if (fieldOf(status, 'paused') !== true) {
      throw new Stop(EXIT.failed, `the pool ${name} was resumed before it was empty`);
    }
    if (numberOf(status, 'inUse') === 0) break;
    await new Promise((done) => setTimeout(done, DRAIN_ASK_MS));
  }
  if (json) return printJson({ drained: true });
  print(`the pool ${name} is paused, and nothing of it is in use`);
}

async function remove(name: string, { json, yes }: Shown & { yes?: boolean }): Promise<void> {
  const client = new AdminClient();
  if (!yes) confirm(name);
  await client.call('DELETE', poolPath(name));
  if (json) return printJson({ deleted: name });
  print(`deleted the pool ${name}`);
}

function confirm(name: string): void {
  if (!Deno.stdin.isTerminal()) {
    throw new Stop(EXIT.usage, 'pool delete: --yes is wanted (without a terminal)');
  }
  const typed = prompt(`Type ${name} to delete this pool with its keys and leases:`);
  if (typed !== name) throw new Stop(EXIT.failed, 'nothing was deleted');
}
