/**
 * The database is locked or full while callers call: answers are right or a clean 503, nothing is
 * granted that was not stored, and all goes on by itself afterwards.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, freshFolder, sleep } from './process.ts';
import { type PoolCalls, type Server, startServer, until } from './server.ts';

afterEach(endAll);

const limited = (limit: number) => ({ concurrency: { limit, mode: 'fixed' } });

/** Runs `during` while another connection holds the write lock. */
async function withWriteLock(path: string, during: () => Promise<void>): Promise<void> {
  const outside = new Database(path);
  outside.exec('BEGIN IMMEDIATE');
  try {
    await during();
  } finally {
    outside.exec('COMMIT');
    outside.close();
  }
}

async function worksAgain(pool: PoolCalls, wanted: number): Promise<void> {
  await until('grants are made again', async () => {
    const { status, json } = await pool.acquire();
    if (status === 200) await pool.release(json.slotId);
    return status === 200;
  }, 2500);
  expect(await pool.capacity()).toBe(wanted);
}

describe('a write lock held from outside', () => {
  it('for a moment is waited out: no request fails', async () => {
    const server = await startServer();
    const pool = await server.pool('short', limited(50));
    for (let round = 0; round < 5; round++) {
      let asking: Promise<{ status: number }[]> = Promise.resolve([]);
      await withWriteLock(server.database, async () => {
        asking = Promise.all([
          ...Array.from({ length: 5 }, () => pool.acquire()),
          server.admin('PATCH', '/pools/short', { queue: { maxDepth: round } }),
          server.admin('POST', '/pools/short/keys', { name: `k${round}` }),
          server.admin('GET', '/pools/short/log'),
          server.call('GET', '/readyz'),
        ]);
        await sleep(300);
      });
      const statuses = (await asking).map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 201, 200, 200]);
    }
    expect((await pool.status()).inUse).toBe(25);
  });

  it('at a start is waited out', async () => {
    const server = await startServer();
    await server.stop();
    let starting: Promise<unknown> = Promise.resolve();
    await withWriteLock(server.database, async () => {
      starting = server.start();
      await sleep(2500);
      expect(server.origin, server.output).toBe('');
    });
    await starting;
    expect(server.origin, server.output).not.toBe('');
    expect((await server.call('GET', '/readyz')).status).toBe(200);
  });

  it('at a start keeps a SIGHUP for later, and no SIGTERM waiting', async () => {
    const server = await startServer();
    await server.stop();
    const startLocked = async (signal: NodeJS.Signals) => {
      const lock = `${server.database}-lock`;
      let starting: Promise<unknown> = Promise.resolve();
      rmSync(lock);
      await withWriteLock(server.database, async () => {
        starting = server.start();
        await until('it opens the database', () => Promise.resolve(existsSync(lock)), 15_000);
        server.signal(signal);
        await Promise.race([server.exited, sleep(500)]);
      });
      await starting;
    };
    await startLocked('SIGHUP');
    expect(server.origin, server.output).not.toBe('');
    await until('it has reloaded', () => Promise.resolve(server.output.includes(' reloaded')));
    await server.stop();
    await startLocked('SIGTERM');
    expect(server.origin).toBe('');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  it('for 3 s gives 503 and no slot; held slots go on, and all works after it', async () => {
    const server = await startServer();
    const pool = await server.pool('long', limited(5));
    const { slotId } = await pool.hold();
    await withWriteLock(server.database, async () => {
      const refused = await pool.acquire();
      expect(refused.status).toBe(503);
      expect(refused.json.error).toBe('storage_unavailable');
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await pool.renew(slotId)).status).toBe(200);
      const startedMs = performance.now();
      expect((await pool.acquire()).status).toBe(503);
      expect(performance.now() - startedMs).toBeLessThan(900);
      expect((await server.call('GET', '/readyz')).status).toBe(503);
      expect((await server.call('GET', '/healthz')).status).toBe(200);
      await sleep(1500);
      expect((await pool.status()).inUse).toBe(1);
      expect((await pool.release(slotId)).text).toBe('{"released":true}');
    });
    await worksAgain(pool, 5);
    await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200);
    const outside = new Database(server.database);
    outside.exec('CREATE TABLE outside (x); DROP TABLE outside');
    outside.close();
  });

  it('leaves a waiter its place: it is served when the lock is gone', async () => {
    const server = await startServer();
    const pool = await server.pool('wait', limited(1));
    const spare = await server.pool('spare', limited(9));
    const { slotId } = await pool.hold();
    const patient = pool.acquire({ waitMs: 20_000 });
    const hasty = pool.acquire({ waitMs: 3000 });
    await until('both wait', async () => (await pool.status()).queued === 2);
    await withWriteLock(server.database, async () => {
      await until('the store is known to fail', async () => {
        const { status } = await spare.acquire();
        return status === 503;
      });
      await pool.release(slotId);
      expect((await hasty).status).toBe(503);
      expect((await pool.status()).queued).toBe(1);
    });
    expect((await patient).status).toBe(200);
  });
});

describe('a stop while a write lock is held from outside', () => {
  /** A server that was told to stop while its store failed, and a release was answered. */
  async function stopping(drainMs: number, during: () => Promise<unknown>) {
    const server = await startServer({ flags: ['--drain-ms', String(drainMs)] });
    const pool = await server.pool('stop', limited(2));
    const { slotId } = await pool.hold();
    await withWriteLock(server.database, async () => {
      await until('the store is known to fail', async () => (await pool.acquire()).status === 503);
      expect((await pool.release(slotId)).text).toBe('{"released":true}');
      server.signal('SIGTERM');
      await Promise.race([during(), server.exited]);
    });
    expect(await server.exited).toEqual({ code: 0, signal: null });
    const { output } = server;
    await server.start();
    return { output, inUse: (await pool.status()).inUse };
  }

  it('goes on trying: what was answered is written once the lock is gone', async () => {
    const { output, inUse } = await stopping(20_000, () => sleep(1000));
    expect(inUse).toBe(0);
    expect(output).not.toContain('stopped');
  });

  it('that outlasts the drain time says so in one line, and the slot lapses', async () => {
    const { output, inUse } = await stopping(600, () => new Promise(() => {}));
    expect(inUse).toBe(1);
    const after = output.split('\n').filter((line) => /stop|clos/.test(line));
    expect(after).toEqual([expect.stringContaining('did not take the last writes')]);
  });
});

describe('a limit on the size of a file', () => {
  const limit = ({ pid }: Server, bytes: string) =>
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);

  it.skipIf(spawnSync('prlimit', ['--version']).status !== 0)(
    'gives 503 as a full disk does, ends nothing, and is recovered from',
    async () => {
      const server = await startServer();
      const pool = await server.pool('limited', limited(9));
      const { slotId } = await pool.hold();
      limit(server, '1');
      const refused = await pool.acquire();
      expect([refused.status, refused.json.error]).toEqual([503, 'storage_unavailable']);
      expect((await pool.renew(slotId)).status).toBe(200);
      limit(server, 'unlimited');
      await until('grants are made again', async () => (await pool.acquire()).status === 200);
      expect((await server.stop()).code).toBe(0);
    },
  );
});

/** What is left for some grants, before there is room for none. */
const ROOM_BYTES = 128 * 1024;

describe('a full disk', () => {
  const mounted: string[] = [];
  afterEach(() => {
    for (const folder of mounted.splice(0)) execFileSync('umount', ['-l', folder]);
  });

  it('gives 503 and no unstored grant, and is recovered from when it has room', async (context) => {
    const folder = freshFolder();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      return context.skip('mounting a small file system is not permitted here');
    }
    mounted.push(folder);
    const server = await startServer({ folder });
    const pool = await server.pool('full', limited(400));
    const held = await pool.hold();
    const ballast = join(folder, 'ballast');
    let size = 4 * 1024 * 1024;
    while (size > 0) {
      try {
        writeFileSync(ballast, new Uint8Array(size));
        writeFileSync(ballast, new Uint8Array(size - ROOM_BYTES));
        break;
      } catch {
        size -= 16 * 1024;
      }
    }
    const told: string[] = [];
    let isRefused = false;
    for (let i = 0; i < 2000 && !isRefused; i++) {
      const { status, json } = await pool.acquire({ holder: 'x'.repeat(128) });
      if (status === 200) told.push(json.slotId);
      else isRefused = status === 503;
      if (told.length > 300) await pool.release(told.pop() ?? '');
    }
    expect(isRefused).toBe(true);
    expect((await pool.renew(held.slotId)).status).toBe(200);
    expect((await pool.release(told.pop() ?? '')).text).toBe('{"released":true}');
    rmSync(ballast);
    await until('grants are made again', async () => (await pool.acquire()).status === 200, 5000);
    await server.stop('SIGKILL');
    // As much of it as there is room for.
    expect(() => writeFileSync(ballast, new Uint8Array(4 * 1024 * 1024))).toThrow('ENOSPC');
    await server.start();
    // Whoever supervises it starts it anew until there is room.
    expect(await server.exited, server.output).toEqual({ code: 1, signal: null });
    expect(server.lines).toHaveLength(1);
    rmSync(ballast);
    await server.start();
    for (const slotId of told.slice(0, 20)) {
      expect((await pool.renew(slotId)).status).toBe(200);
    }
    expect(statSync(server.database).size).toBeGreaterThan(0);
  });
});
