/**
 * `nthbouncer slots` and `nthbouncer kill`: who holds a pool's slots and who waits, and taking a
 * slot back.
 */
import { AdminClient, poolPath } from './admin_client.ts';
import type { Command } from './command.ts';
import { print } from './command.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson, printTable } from './show.ts';
import { instantOf, rowsOf, spanOf, textOf } from './fields.ts';

export const slotsCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'slots', 'who holds the slots of a pool').argument('<pool>')
      .option('--waiting', 'who waits for one, first come first')
      .action(list);
  },
};

export const killCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'kill', 'take a slot back; its holder is not asked')
      .argument('<pool>')
      .argument('<ref>', 'as `slots` shows it')
      .action(take);
  },
};

async function list(pool: string, options: Shown & { waiting?: boolean }): Promise<void> {
  const client = new AdminClient();
  if (options.waiting) {
    const waiters = rowsOf(await client.get(poolPath(pool, 'waiters')), 'waiters');
    if (options.json) return printJson(waiters);
    return printTable(waiters, [
      ['ID', (row) => textOf(row, 'id')],
      ['SLOTS', (row) => textOf(row, 'slots')],
      ['HOLDER', (row) => textOf(row, 'holder')],
      ['WAITED', (row) => spanOf(row, 'waitedMs')],
      ['UNTIL', (row) => instantOf(row, 'until')],
      ['KEY', (row) => textOf(row, 'keyId')],
    ], 'Nobody waits.');
  }
  const slots = rowsOf(await client.get(poolPath(pool, 'slots')), 'slots');
  if (options.json) return printJson(slots);
  printTable(slots, [
    ['REF', (row) => textOf(row, 'ref')],
    ['KIND', (row) => textOf(row, 'kind')],
    ['SLOTS', (row) => textOf(row, 'slots')],
    ['HOLDER', (row) => textOf(row, 'holder')],
    ['AGE', (row) => spanOf(row, 'ageMs')],
    ['RENEWALS', (row) => textOf(row, 'renewals')],
    ['LEASE ENDS', (row) => instantOf(row, 'leaseDeadline')],
    ['AT THE LATEST', (row) => instantOf(row, 'requestDeadline')],
    ['KEY', (row) => textOf(row, 'keyId')],
  ], 'No slot is held.');
}

async function take(pool: string, ref: string, { json }: Shown): Promise<void> {
  await new AdminClient().call('DELETE', poolPath(pool, 'slots', ref));
  if (json) return printJson({ taken: ref });
  print(`took the slot ${ref} back`);
}
