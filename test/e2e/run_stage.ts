/**
 * A server with one pool of one slot, and `nthbouncer run` against it, for the tests of one file.
 * The server keeps its port, so that it can be stopped and started under a command.
 */
import { beforeAll } from 'vitest';
import { type Running, start } from './process.ts';
import { type PoolCalls, Server } from './server.ts';

export const TERM_MS = 3_000;
export const lease = { termMs: TERM_MS, requestTimeoutMs: 60_000 };
export const server = new Server({ keepsPort: true });
/** There once the first test begins. */
export let pool: PoolCalls;

beforeAll(async () => {
  await server.start();
  pool = await server.pool('p', { concurrency: { limit: 1 }, lease });
}, 20_000);

export function run(options: readonly string[], command: readonly string[]): Running {
  return start(['run', ...options, 'p', '--', ...command], {
    NTHBOUNCER_URL: server.origin,
    NTHBOUNCER_KEY: pool.key,
    NTHBOUNCER_ADMIN_TOKEN: 'not for the command',
  });
}
