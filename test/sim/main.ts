/**
 * `npm run sim -- --seed N --turns M [--seeds K] [--trace] [--quiet]`: runs K seeds from N on,
 * prints what was exercised, and exits 1 at the first promise that the server broke.
 */
import { parseArgs } from 'node:util';
import process from 'node:process';
import { simulate } from './simulation.ts';
import { Tally } from './tally.ts';

const USAGE = 'npm run sim -- [--seed N] [--turns M] [--seeds K] [--trace] [--quiet]';

const values = valuesOf();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const first = whole(values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 'seed', 0);
const turns = whole(values.turns, 'turns', 1);
const seeds = whole(values.seeds, 'seeds', 1);

const trace = values.trace
  ? (atMs: number, name: string) => console.log(`${String(atMs).padStart(9)}  ${name}`)
  : undefined;

const total = new Tally();
let virtualMs = 0;
let events = 0;
const startedAtMs = performance.now();
for (let seed = first; seed < first + seeds; seed++) {
  try {
    const report = await simulate(seed, turns, trace);
    total.add(report.tally);
    virtualMs += report.virtualMs;
    events += report.events;
  } catch (error) {
    console.error(`BROKEN  ${error instanceof Error ? error.message : error}`);
    console.error(`again: npm run sim -- --seed ${seed} --turns ${turns}`);
    process.exit(1);
  }
}
if (!values.quiet) console.log(total.lines().join('\n'));
const tookMs = Math.round(performance.now() - startedAtMs);
const hours = (virtualMs / 3_600_000).toFixed(2);
console.log(
  `kept  seed ${first}, ${seeds} seed(s) of ${turns} turns: ${events} events, ` +
    `${hours} h of simulated time in ${tookMs} ms`,
);
// A last timer of a simulated server must not keep the process.
process.exit(0);

function valuesOf() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        turns: { type: 'string', default: '2000' },
        seeds: { type: 'string', default: '1' },
        trace: { type: 'boolean', default: false },
        quiet: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message.split('\n')[0] ?? '' : String(error));
  }
}

function whole(text: string, name: string, min: number): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= min) return Number(text);
  return refuse(`--${name} must be a whole number of ${min} or more, not "${text}"`);
}

function refuse(what: string): never {
  console.error(`${what}; ${USAGE}`);
  process.exit(2);
}
