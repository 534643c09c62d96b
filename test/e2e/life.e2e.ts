/**
 * What somebody meets who starts, reloads and restarts a server by hand: first starts, tokens,
 * owners, and a database that is not this program's to touch.
 */
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, freshFolder, sleep, start } from './process.ts';
import { ADMIN_TOKEN, Server, startServer, until } from './server.ts';

afterEach(endAll);

/** No token in the environment, so that the server makes one. */
const NO_TOKEN = { NTHBOUNCER_ADMIN_TOKEN: '' };
const keyIn = ({ output }: Server) => output.match(/nb_live_\w+/)?.[0] ?? '';
const hasTold = (server: Server) =>
  until('the key is printed', () => Promise.resolve(server.output.includes('try it')));
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

async function mayAdminister(server: Server, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  return (await server.call('GET', '/admin/api/pools', { headers })).status === 200;
}

describe('a first start', () => {
  it('prints a call that works, and the path of the token, and never again', async () => {
    const server = await startServer({ env: NO_TOKEN });
    await hasTold(server);
    const lines = server.lines;
    expect(lines[0]).toBe(`admin token written to ${join(server.folder, 'admin-token')}`);
    expect(lines[1]).toBe(`nthbouncer listening on ${server.origin}`);
    const call = lines.at(-1)?.match(/curl -X POST (\S+) -H "X-Nthpool-Key: (\S+)"/);
    const headers = { 'x-nthpool-key': call?.[2] ?? '' };
    const url = call?.[1] ?? '';
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(200);
    const path = join(server.folder, 'admin-token');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(server.database).mode & 0o077).toBe(0);
    const token = readFileSync(path, 'utf8').trim();
    expect(await mayAdminister(server, token)).toBe(true);
    expect(server.output).not.toContain(token);
    await server.stop();
    await server.start();
    expect(server.output.trim()).toBe(`nthbouncer listening on ${server.origin}`);
    expect(await mayAdminister(server, token)).toBe(true);
    const again = await server.call('POST', '/pools/default/lock/acquire', { headers });
    expect(again.status).toBe(200);
  });

  it('tells where the listener of each pool is', async () => {
    // A variable that is empty counts as unset.
    const env = { NTHBOUNCER_CONFIG: '', NTHBOUNCER_TLS_CERT: '', NTHBOUNCER_HOST: '' };
    const server = await startServer({ env, flags: ['--pool-listen', 'llm=127.0.0.1:0'] });
    await hasTold(server);
    expect(server.output).toMatch(/there is no pool "?llm"?: \S+ answers 401 until there is one/);
    const origin = server.output.match(/the pool "llm" listens on (\S+)\n/)?.[1];
    expect((await fetch(`${origin}/`)).status).toBe(401);
  });

  it('whose token file cannot be written keeps no token either', async () => {
    const home = new Server();
    const path = join(home.folder, 'admin-token');
    mkdirSync(join(path, 'in-the-way'), { recursive: true });
    const server = await startServer({ folder: home.folder, env: NO_TOKEN });
    expect((await server.exited).code).toBe(1);
    rmSync(path, { recursive: true });
    await server.start();
    const token = readFileSync(path, 'utf8').trim();
    expect(await mayAdminister(server, token)).toBe(true);
  });

  it('with a configuration file makes no pool of its own, nor does a later one', async () => {
    const home = new Server();
    const config = join(home.folder, 'pools.json');
    writeFileSync(config, '{"pools": [{"name": "filed"}]}');
    const filed = await startServer({ folder: home.folder, flags: ['--config', config] });
    await filed.stop();
    const plain = await startServer({ folder: home.folder });
    const { json } = await plain.admin('GET', '/pools');
    expect(json.pools.map(({ name }: { name: string }) => name)).toEqual(['filed']);
    expect(keyIn(plain)).toBe('');
    const changed = await plain.admin('PATCH', '/pools/filed', { concurrency: { limit: 3 } });
    expect(changed.status).toBe(200);
    await plain.stop();
    await filed.start();
    expect((await filed.admin('PATCH', '/pools/filed', {})).status).toBe(409);
  });
});

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s in the moment that the server listens is a stop with exit 0',
    async (name) => {
      for (let round = 0; round < 3; round++) {
        const server = await startServer();
        expect(await server.stop(name)).toEqual({ code: 0, signal: null });
      }
    },
  );

  it('SIGHUP in the moment that the server listens does not end it', async () => {
    const server = await startServer();
    server.signal('SIGHUP');
    await sleep(300);
    expect((await server.call('GET', '/healthz')).status).toBe(200);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  it('SIGHUP with a key taken out of the file refuses who waits by it', async () => {
    const home = new Server();
    const config = join(home.folder, 'pools.json');
    const keys = ['one', 'two'].map((name) => ({
      name,
      hash: createHash('sha256').update(`nb_live_${name}`).digest('hex'),
    }));
    const write = (kept: object[]) => {
      const pool = { name: 'filed', concurrency: { limit: 1 }, keys: kept };
      writeFileSync(config, JSON.stringify({ pools: [pool] }));
    };
    write(keys);
    const server = await startServer({ folder: home.folder, flags: ['--config', config] });
    const acquire = (key: string, waitMs: number) =>
      server.call('POST', '/pools/filed/lock/acquire', {
        headers: { 'x-nthpool-key': `nb_live_${key}` },
        body: JSON.stringify({ waitMs }),
      });
    expect((await acquire('one', 0)).status).toBe(200);
    const waiting = acquire('two', 20_000);
    await until('it waits', async () => {
      return (await server.admin('GET', '/pools/filed/status')).json.queued === 1;
    });
    write(keys.slice(0, 1));
    server.signal('SIGHUP');
    expect((await waiting).status).toBe(401);
    expect((await acquire('one', 0)).status).toBe(429);
  });
});

describe('admin-token --reset', () => {
  const reset = (database: string, ...flags: string[]) =>
    start(['admin-token', '--db', `file:${database}`, ...flags]).finished;

  it('makes a new token, and the old one is worth nothing', async () => {
    const server = await startServer({ env: NO_TOKEN });
    const path = join(server.folder, 'admin-token');
    const old = readFileSync(path, 'utf8').trim();
    const busy = await reset(server.database, '--reset');
    expect(busy.code).toBe(3);
    expect(busy.err.trim().split('\n')).toHaveLength(1);
    expect(await mayAdminister(server, old)).toBe(true);
    await server.stop();
    expect((await reset(server.database)).code).toBe(2);
    const done = await reset(server.database, '--reset');
    expect([done.code, done.err]).toEqual([0, '']);
    const fresh = readFileSync(path, 'utf8').trim();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await server.start();
    expect(fresh).not.toBe(old);
    expect(await mayAdminister(server, old)).toBe(false);
    expect(await mayAdminister(server, fresh)).toBe(true);
    await server.stop();
    const env = { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
    const beside = start(['admin-token', '--reset', '--db', `file:${server.database}`], env);
    expect((await beside.finished).err).toContain('NTHBOUNCER_ADMIN_TOKEN is set here and wins');
    const named = await startServer({ folder: server.folder });
    expect(await mayAdminister(named, fresh)).toBe(false);
    expect(await mayAdminister(named, ADMIN_TOKEN)).toBe(true);
  });

  it.each([['admin-token', '--reset'], ['rekey']])(
    '%s makes nothing where there is no database',
    async (...words) => {
      const cwd = freshFolder();
      const key = 'a master key of this test: 0123456789';
      const env = { NTHBOUNCER_MASTER_KEY: key, NTHBOUNCER_NEW_MASTER_KEY: `${key}!` };
      const done = await start([...words, '--db', 'file:./nowhere/x.db'], env, { cwd }).finished;
      const path = join(realpathSync(cwd), 'nowhere/x.db');
      expect([done.code, done.output]).toEqual([4, `nthbouncer: there is no database ${path}\n`]);
      expect(readdirSync(cwd)).toEqual([]);
    },
  );
});

describe('a slot', () => {
  it('released after a restart was held until then', async () => {
    const server = await startServer();
    const pool = await server.pool('kept', { concurrency: { limit: 2 } });
    const { slotId } = await pool.hold();
    await server.stop('SIGKILL');
    await server.start();
    expect((await pool.release(slotId)).text).toBe('{"released":true}');
    expect((await pool.release(slotId)).text).toBe('{"released":false}');
    await sleep(400);
    await server.stop('SIGKILL');
    await server.start();
    expect((await pool.release(slotId)).text).toBe('{"released":false}');
    expect(await pool.capacity()).toBe(2);
  });
});

describe('a window that the upstream told used up', () => {
  it('is shut still after a restart, until an operator has it forgotten', async () => {
    const server = await startServer();
    const pool = await server.pool('spent', { concurrency: { limit: 2 } });
    const { slotId } = await pool.hold();
    const headers = {
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '3000',
    };
    await pool.release(slotId, { status: 200, headers });
    await server.stop();
    await server.start();
    const refused = await pool.acquire();
    expect([refused.status, refused.json.reason]).toEqual([429, 'rate']);
    expect(refused.json.retryAfterMs).toBeGreaterThan(2_900_000);
    await server.admin('POST', '/pools/spent/governor/forget');
    await server.stop();
    await server.start();
    expect((await pool.acquire()).status).toBe(200);
  });
});

describe('a database', () => {
  it('of a newer version ends the start with 4 and one line, byte for byte untouched', async () => {
    const server = await startServer();
    await server.pool('before');
    await server.stop();
    const database = new Database(server.database);
    database.exec(
      "INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('of tomorrow', 4102444800000)",
    );
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const before = digest(server.database);
    await server.start();
    expect((await server.exited).code).toBe(4);
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain('newer version');
    expect(digest(server.database)).toBe(before);
  });

  it('that another has claimed ends the server with 3, whatever it wrote', async () => {
    const server = await startServer();
    // The server may be writing at this moment.
    const database = new Database(server.database, { timeout: 5000 });
    database.exec('UPDATE claim SET epoch = epoch + 1');
    database.close();
    const change = { method: 'POST', body: '{"name": "late"}' };
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    await server.call('POST', '/admin/api/pools', { ...change, headers }).catch(() => null);
    expect(await server.exited).toEqual({ code: 3, signal: null });
    expect(server.output).toContain('another server has taken over the database');
  });

  it('that two servers start on in the same instant has one of them', async () => {
    const home = new Server();
    const two = await Promise.all([1, 2, 3].map(() => startServer({ folder: home.folder })));
    const up = two.filter(({ origin }) => origin !== '');
    expect(up).toHaveLength(1);
    for (const server of two) {
      if (server.origin === '') expect((await server.exited).code).toBe(3);
    }
    const [winner] = up;
    expect((await (await winner?.pool('p'))?.acquire())?.status).toBe(200);
  });

  it('with nothing but a torn write-ahead log beside it keeps what was told before', async () => {
    const server = await startServer();
    const pool = await server.pool('torn', { concurrency: { limit: 9 } });
    const held = [await pool.hold(), await pool.hold()];
    await sleep(400);
    await server.stop('SIGKILL');
    const log = `${server.database}-wal`;
    const bytes = readFileSync(log);
    // A crash in the middle of a write leaves a tail that was never told of.
    writeFileSync(log, new Uint8Array([...bytes, ...new Uint8Array(3000).fill(0xa5)]));
    await server.start();
    for (const { slotId } of held) expect((await pool.renew(slotId)).status).toBe(200);
    expect((await pool.status()).inUse).toBe(2);
  });
});
