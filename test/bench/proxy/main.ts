/**
 * `npm run bench:proxy`: small GETs and a body of 1 MiB through the proxy, beside nginx, HAProxy
 * and a plain fetch proxy in the same run, one after another in each round; a ratio is the median
 * of the rounds' own. Before the rounds each server runs warm, as one does for months. Needs
 * wrk, nginx and haproxy (Debian packages) on the PATH. Options: --seconds N, --rounds N,
 * --connections 1,16,64, --warm N (seconds; 0 to begin cold).
 */
import { inFolder, median, optionsOf } from '../head.ts';
import { type Run, wrk } from '../wrk.ts';
import { startAll, type Target } from './servers.ts';

const values = optionsOf({ seconds: '3', rounds: '5', connections: '1,16,64', warm: '6' });
const WARM_CONNECTIONS = 16;
await inFolder(async (folder) => {
  const targets = await startAll(folder);
  try {
    for (const [what, path] of [['small GET', '/'], ['1 MiB', '/mib']] as const) {
      console.log(`\n${what}: requests/s, p99 ms, p99 ms at an even pace (ratios to nginx)`);
      if (Number(values.warm) > 0) {
        for (const target of targets) {
          await run(target, path, { connections: WARM_CONNECTIONS, seconds: values.warm });
        }
      }
      for (const connections of values.connections.split(',').map(Number)) {
        await compare(targets, path, connections);
      }
    }
  } finally {
    for (const target of targets) await target.end();
  }
});

async function compare(
  targets: readonly Target[],
  path: string,
  connections: number,
): Promise<void> {
  const runs = new Map<string, Run[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of targets) {
      runs.get(target.name)?.push(
        await run(target, path, { connections, seconds: values.seconds }),
      );
    }
  }
  const nginx = runs.get('nginx') ?? [];
  const told = (own: readonly Run[], pick: (run: Run) => number, digits: number) => {
    const ratios = own.map((run, round) => pick(run) / pick(nginx[round] as Run));
    return `${median(own.map(pick)).toFixed(digits)} (${median(ratios).toFixed(2)})`;
  };
  const cells = targets.map(({ name }) => {
    const own = runs.get(name) ?? [];
    const rate = told(own, (run) => run.rate, 0);
    const p99 = told(own, (run) => run.p99us / 1000, 2);
    const p99even = told(own, (run) => run.p99evenUs / 1000, 2);
    return `${name} ${rate}, ${p99}, ${p99even}`;
  });
  console.log(`${String(connections).padStart(3)} connections | ${cells.join(' | ')}`);
}

function run(
  { port }: Target,
  path: string,
  { connections, seconds }: { connections: number; seconds: string },
): Promise<Run> {
  const url = `http://127.0.0.1:${port}${path}`;
  return wrk({ connections, seconds: Number(seconds) }, 'test/bench/wrk.lua', [url]);
}
