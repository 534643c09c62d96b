/**
 * `npm run bench`: acquire + release over HTTP against a durable store, as ratios to a no-op route
 * that is measured in turn with it. Prints what was measured; any status but 200 fails the run.
 * Needs wrk (a Debian package) on the PATH. Options: --seconds N, --rounds N, --connections 1,64.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { inFolder, median, optionsOf } from '../head.ts';
import type { Run } from '../wrk.ts';
import { startNoop, startServer, type Target } from './servers.ts';
import { acquireLatencies } from './latency.ts';
import { runPairs } from './pairs.ts';

const FSYNC_US_MIN = 50;

const values = optionsOf({ seconds: '4', rounds: '3', connections: '1,16,64,256' });
await inFolder(main);

async function main(folder: string): Promise<void> {
  const fsyncUs = measureFsync(folder);
  console.log(`fsync (4 KiB append, median of 200): ${fsyncUs.toFixed(0)} us`);
  if (fsyncUs < FSYNC_US_MIN) throw new Error('void: the database folder does not reach a disk');
  const noop = await startNoop();
  const server = await startServer(folder);
  try {
    console.log(
      'connections | requests/s noop, locks | ratio | p50 ms (both) | p99 ms (both) | ratio | ' +
        'p99 ms at an even pace (both) | ratio',
    );
    for (const connections of values.connections.split(',').map(Number)) {
      await compare(connections, noop, server);
    }
    const one = await acquireLatencies(server, 1000);
    const budgetUs = fsyncUs + 300;
    console.log(
      `1 connection, acquire alone: p50 ${one.p50us.toFixed(0)} us, p99 ${
        one.p99us.toFixed(0)
      } us ` +
        `(fsync + 300 us = ${budgetUs.toFixed(0)} us)`,
    );
  } finally {
    await noop.end();
    await server.end();
  }
}

async function compare(connections: number, noop: Target, server: Target): Promise<void> {
  const options = { connections, seconds: Number(values.seconds) };
  const pairs: { noop: Run; locks: Run }[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    pairs.push({ noop: await runPairs(noop, options), locks: await runPairs(server, options) });
  }
  const of = (pick: (pair: { noop: Run; locks: Run }) => number) => median(pairs.map(pick));
  const ms = (us: number) => (us / 1000).toFixed(2);
  console.log([
    String(connections).padStart(11),
    `${of((p) => p.noop.rate).toFixed(0)}, ${of((p) => p.locks.rate).toFixed(0)}`,
    of((p) => p.locks.rate / p.noop.rate).toFixed(2),
    `${ms(of((p) => p.noop.p50us))}, ${ms(of((p) => p.locks.p50us))}`,
    `${ms(of((p) => p.noop.p99us))}, ${ms(of((p) => p.locks.p99us))}`,
    of((p) => p.locks.p99us / p.noop.p99us).toFixed(2),
    `${ms(of((p) => p.noop.p99evenUs))}, ${ms(of((p) => p.locks.p99evenUs))}`,
    of((p) => p.locks.p99evenUs / p.noop.p99evenUs).toFixed(2),
  ].join(' | '));
}

/** The median time of an append of 4 KiB that reaches the disk, us. */
function measureFsync(folder: string): number {
  const file = openSync(`${folder}/fsync`, 'w');
  const block = new Uint8Array(4096).fill(7);
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return (performance.now() - start) * 1000;
  });
  closeSync(file);
  return median(times);
}
