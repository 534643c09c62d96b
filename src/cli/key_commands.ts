/**
 * `nthbouncer key …`: makes, lists and revokes the keys of a pool. A key is shown once, when it is
 * made.
 */
import { InvalidArgumentError } from 'commander';
import { AdminClient, poolPath } from './admin_client.ts';
import type { Command } from './command.ts';
import { print } from './command.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson, printTable } from './show.ts';
import { durationMs } from './duration.ts';
import { instantOf, rowsOf, textOf } from './fields.ts';
import { serverNowMs } from './server_time.ts';

export const keyCommand: Command = {
  add: (program) => {
    const key = program.command('key').description('make, list and revoke keys of a pool');
    consoleCommand(key, 'create', 'make a key; it is shown only now').argument('<pool>')
      .requiredOption('--name <label>', 'what it is for')
      .option('--expires-in <duration>', 'how long it is good for; else until revoked', lifetimeMs)
      .action(create);
    consoleCommand(key, 'list', 'the keys of a pool, without their secrets').argument('<pool>')
      .action(list);
    consoleCommand(key, 'revoke', 'make a key worthless at once').argument('<pool>')
      .argument('<id>')
      .action(revoke);
  },
};

/** Reads how long a key is good for. */
export function lifetimeMs(text: string): number {
  const ms = durationMs(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('It must be longer than 0, or the key would never work.');
}

async function create(
  pool: string,
  { json, name, expiresIn }: Shown & { name: string; expiresIn?: number },
): Promise<void> {
  const client = new AdminClient();
  const expiresAt = expiresIn === undefined ? null : await serverNowMs(client) + expiresIn;
  const made = await client.post(poolPath(pool, 'keys'), { name, expiresAt });
  if (json) return printJson(made);
  print(textOf(made, 'key'));
}

async function list(pool: string, { json }: Shown): Promise<void> {
  const answer = await new AdminClient().get(poolPath(pool, 'keys'));
  const keys = rowsOf(answer, 'keys');
  if (json) return printJson(keys);
  printTable(keys, [
    ['ID', (row) => textOf(row, 'id')],
    ['NAME', (row) => textOf(row, 'name')],
    ['BEGINS', (row) => textOf(row, 'prefix')],
    ['MADE', (row) => instantOf(row, 'createdAt')],
    ['EXPIRES', (row) => instantOf(row, 'expiresAt')],
    ['LAST USED', (row) => instantOf(row, 'lastUsedAt')],
  ], `The pool has no key: nthbouncer key create ${pool} --name NAME`);
}

async function revoke(pool: string, id: string, { json }: Shown): Promise<void> {
  await new AdminClient().call('DELETE', poolPath(pool, 'keys', id));
  if (json) return printJson({ revoked: id });
  print(`revoked the key ${id}`);
}
