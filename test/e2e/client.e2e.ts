/** The client as programs have it: the package's own entry, on Node as JavaScript and on Deno. */
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { freshFolder, sleep } from './process.ts';
import { type PoolCalls, Server } from './server.ts';

const run = promisify(execFile);
const server = new Server({ keepsPort: true });
const lease = { termMs: 2_000, requestTimeoutMs: 60_000 };
let calls: PoolCalls;

beforeAll(async () => {
  await run('node', ['.ci/client.mjs']);
  await server.start();
  calls = await server.pool('p', { concurrency: { limit: 1 }, lease });
}, 20_000);

const PROGRAM = `
  const { connect, SlotLost } = await import('nthbouncer/client');
  const [url, key] = JSON.parse(process.env.WHERE);
  const pool = connect({ url, pool: 'p', key });
  const seen = await pool.run(async (slot) => {
    await new Promise((done) => setTimeout(done, 3000));
    slot.report(new Response('', { headers: { 'x-ratelimit-limit': '60' } }));
    return [slot.signal.aborted, typeof slot.fence, typeof SlotLost];
  }, { waitMs: 10000, holder: 'program' });
  console.log(JSON.stringify(seen));
`;

const TYPED = `
  import { connect } from 'nthbouncer/client';
  import type { Slot } from 'nthbouncer/client';
  const pool = connect({ url: 'http://127.0.0.1:8787', pool: 'p', key: 'k' });
  const fenceOf = (slot: Slot) => slot.fence;
  export const fence: number = await pool.run(fenceOf, { waitMs: 10 });
  // @ts-expect-error: the types are there, and say what there is.
  void pool.nothing;
`;

/** A project that has this one among its packages, as `npm install ../nthbouncer` leaves it. */
function project(): string {
  const folder = freshFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(resolve('.'), join(folder, 'node_modules', 'nthbouncer'));
  const dependencies = { nthbouncer: `file:${resolve('.')}` };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  writeFileSync(join(folder, 'typed.ts'), TYPED);
  return folder;
}

describe('nthbouncer/client', () => {
  it.each([
    ['deno', ['check', '--quiet', 'typed.ts']],
    ['tsc', ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', 'typed.ts']],
  ])('has its types for %s', async (program, words) => {
    const path = resolve('node_modules/.bin', program);
    // It rejects where the program finds an error.
    await run(path, words, { cwd: project() });
  });

  it.each([
    ['node', ['--input-type=module', '--eval', PROGRAM]],
    ['node_modules/.bin/deno', ['eval', `import process from 'node:process';${PROGRAM}`]],
  ])('holds a slot for longer than its term on %s', async (program, words) => {
    const env = { ...process.env, WHERE: JSON.stringify([server.origin, calls.key]) };
    const { stdout } = await run(program, words, { env });
    expect(JSON.parse(stdout)).toEqual([false, 'number', 'function']);
    expect(await calls.deadlines()).toEqual([]);
  });

  it('loses no slot and takes no second one while the server is killed thrice', async () => {
    const pool = connect({ url: server.origin, pool: 'p', key: calls.key });
    let [inside, most, done] = [0, 0, 0];
    const worker = async () => {
      for (let turn = 0; turn < 3; turn++) {
        await pool.run(async (slot) => {
          most = Math.max(most, ++inside);
          await Promise.race([
            sleep(400),
            new Promise((lost) => slot.signal.addEventListener('abort', lost)),
          ]);
          inside--;
          done++;
        }, { waitMs: 25_000 });
      }
    };
    const workers = Promise.all([worker(), worker(), worker()]);
    for (let kill = 0; kill < 3; kill++) {
      await sleep(600);
      await server.stop('SIGKILL');
      await server.start();
    }
    await workers;
    expect({ most, done }).toEqual({ most: 1, done: 9 });
    expect(await calls.deadlines()).toEqual([]);
  });
}, 40_000);
