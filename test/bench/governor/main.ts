/**
 * `npm run bench:governor`: compares the shipped governor with published limiters on simulated
 * upstreams. `--scenarios FILE` runs another file of the same format, `--seeds 11..15` chooses
 * seeds, `--only NAME` one scenario (or limiter, as `limiter:NAME`), `--json` prints one object a
 * line instead of tables.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type Row, runScenario } from './bench.ts';
import { LIMITERS } from './limiters.ts';
import type { Scenario, ScenarioFile } from './scenario.ts';
import { table } from './table.ts';

const LIMITER_PREFIX = 'limiter:';

function main(): void {
  const { values } = parseArgs({
    options: {
      scenarios: { type: 'string' },
      seeds: { type: 'string', default: '11..15' },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
    },
  });
  const file = values.scenarios ?? new URL('./scenarios.json', import.meta.url);
  const { scenarios, variants, additions = [] } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as ScenarioFile;
  const seeds = readSeeds(values.seeds);
  const chosen = choose([...scenarios, ...(variants ?? []), ...additions], values.only);
  const rows: Row[] = [];
  for (const scenario of chosen.scenarios) {
    for (const limiter of chosen.limiters) {
      const row = runScenario(scenario, limiter, seeds);
      if (values.json) print(JSON.stringify(row));
      rows.push(row);
    }
  }
  if (values.json) return;
  const names = (some: readonly Scenario[]) => new Set(some.map(({ name }) => name));
  const recovering = chosen.scenarios.filter(({ eventAtMs }) => eventAtMs !== undefined);
  print(table(rows, { counted: names(scenarios), recovering: names(recovering) }));
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function choose(scenarios: readonly Scenario[], only: readonly string[]) {
  const limiters = only.filter((name) => name.startsWith(LIMITER_PREFIX))
    .map((name) => name.slice(LIMITER_PREFIX.length));
  const names = only.filter((name) => !name.startsWith(LIMITER_PREFIX));
  const known = new Set(scenarios.map((scenario) => scenario.name));
  const unknown = [
    ...names.filter((name) => !known.has(name)),
    ...limiters.filter((name) => !(name in LIMITERS)),
  ];
  if (unknown.length > 0) fail(`no scenario or limiter is named ${unknown.join(', ')}`);
  return {
    scenarios: scenarios.filter(({ name }) => names.length === 0 || names.includes(name)),
    limiters: Object.entries(LIMITERS)
      .filter(([name]) => limiters.length === 0 || limiters.includes(name)),
  };
}

/** `11..15`, `3`, or `1,2,7`. */
function readSeeds(text: string): number[] {
  const range = /^(\d+)\.\.(\d+)$/.exec(text);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (to >= from) return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  }
  if (/^\d+(,\d+)*$/.test(text)) return text.split(',').map(Number);
  return fail(`--seeds wants 11..15 or 1,2,3, not ${text}`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

main();
