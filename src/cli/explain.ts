/**
 * `nthbouncer explain POOL`: which gate would refuse a caller now, until when, and why.
 */
import { AdminClient, poolPath } from './admin_client.ts';
import type { Command } from './command.ts';
import { print } from './command.ts';
import type { Shown } from './show.ts';
import { consoleCommand, harmless, printJson, printTable } from './show.ts';
import { instantOf, textOf } from './fields.ts';
import { gatesOf, refusing } from './gates.ts';

export const explainCommand: Command = {
  add: (program) => {
    consoleCommand(program, 'explain', 'which gate would refuse now, and until when')
      .argument('<pool>')
      .action(explain);
  },
};

async function explain(pool: string, { json }: Shown): Promise<void> {
  const status = await new AdminClient().get(poolPath(pool, 'status'));
  const gates = gatesOf(status);
  const shut = refusing(gates);
  if (json) return printJson({ pool, refuses: shut?.gate ?? null, gates, status });
  if (shut === null) print(`${pool} would grant a slot now.`);
  else {
    const until = shut.until === null ? '' : `, until ${instantOf({ ...shut }, 'until')}`;
    const whom = shut.gate === 'credentials' ? ' proxied calls' : '';
    print(`${pool} would refuse${whom} now${until}: ${harmless(shut.why)}.`);
  }
  print('');
  printTable(gates.map((gate) => ({ ...gate })), [
    ['GATE', (row) => textOf(row, 'gate')],
    ['NOW', (row) => row['isOpen'] === true ? 'open' : 'shut'],
    ['UNTIL', (row) => instantOf(row, 'until')],
    ['WHY', (row) => textOf(row, 'why')],
  ], '');
}
