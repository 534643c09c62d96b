/**
 * Exit codes, their one line, and what is left untouched; and the ways to stop a server.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, freshFolder, sleep, sources, start } from './process.ts';
import { Server, startServer } from './server.ts';

afterEach(endAll);

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** As a file of secrets that somebody has mounted gives it. */
const TOKEN_LINE = `${'t'.repeat(40)}\n`;
const HOSTED = (name: string) => ({ name, upstream: { url: 'http://h', hosts: ['h.test'] } });

describe('a start that cannot be', () => {
  it.each([
    ['an unknown flag', ['--no-such-flag'], {}, '--no-such-flag'],
    ['a bad port', ['--port', 'seventy'], {}, '--port'],
    ['a bad database URL', ['--db', 'nowhere'], {}, '--db'],
    ['a flag twice', ['--drain-ms', '1', '--drain-ms=2'], {}, '--drain-ms may be given once'],
    ['half of TLS', ['--tls-cert', 'cert.pem'], {}, '--tls-key'],
    ['an address that is none', ['--host', '999.1.1.1'], {}, '--host'],
    ['two listeners', ['--pool-listen', 'a=h:80,b=h:80'], {}, '--pool-listen: h:80 is the address'],
    ['a missing configuration file', ['--config', 'no-such.json'], {}, '--config'],
    ['a bad variable', [], { NTHBOUNCER_DRAIN_MS: 'soon' }, 'NTHBOUNCER_DRAIN_MS'],
    ['a short admin token', [], { NTHBOUNCER_ADMIN_TOKEN: 'short' }, 'NTHBOUNCER_ADMIN_TOKEN'],
    ['a token no request can carry', [], { NTHBOUNCER_ADMIN_TOKEN: TOKEN_LINE }, 'ADMIN_TOKEN: mu'],
    [
      'another one',
      [],
      { NTHBOUNCER_METRICS_TOKEN: TOKEN_LINE },
      'METRICS_TOKEN: must hold one word',
    ],
  ])('for %s exits 2 with one line that names it', async (_, flags, env, name) => {
    const server = await startServer({ flags, env });
    expect(await server.exited).toEqual({ code: 2, signal: null });
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain(name);
    expect(readdirSync(server.folder)).toEqual([]);
  });

  it.each([
    ['a bad pool', [{ name: 'a', concurrency: { limit: 0 } }], 'pools.0: concurrency.limit'],
    ['a host of two pools', [HOSTED('a'), HOSTED('b')], 'h.test is a host of pool a'],
    ['no name of a variable', [{ name: 'a', keys: [{ name: 'k', env: 'A=B' }] }], 'keys.0.env'],
  ])('for %s in the configuration file exits 2 and makes no database', async (_, pools, where) => {
    const path = join(freshFolder(), 'pools.json');
    writeFileSync(path, JSON.stringify({ pools }));
    const server = await startServer({ flags: ['--config', path] });
    expect((await server.exited).code).toBe(2);
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain(`--config: ${path}: `);
    expect(server.output).toContain(where);
    expect(readdirSync(server.folder)).toEqual([]);
  });

  it('for a port that is taken exits 1 with one line', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await new Promise((done) => taken.once('listening', done));
    const { port } = taken.address() as net.AddressInfo;
    const server = await startServer({ flags: ['--port', String(port)] });
    expect((await server.exited).code).toBe(1);
    expect(server.output).toContain(`${port}: the port is taken; --port names another`);
    const flags = ['--pool-listen', `p=127.0.0.1:${port}`];
    const second = await startServer({ flags });
    expect((await second.exited).code).toBe(1);
    expect(second.output).toContain(`${port}: the port is taken; --pool-listen names another`);
    taken.close();
  });

  it('for a library that cannot be loaded exits 1 with one line; others need none', async () => {
    const allowed = ['net', 'read', 'write', 'env', 'sys', 'run'].map((name) => `--allow-${name}`);
    const program = sources('src/main.ts', ['--no-prompt', ...allowed]);
    const server = await startServer({ program });
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.lines).toHaveLength(1);
    expect(server.output).toMatch(
      /^nthbouncer: the library of the database cannot be loaded: .*TMPDIR/,
    );
    expect(readdirSync(server.folder)).toEqual([]);
    const version = await start(['--version'], {}, { program }).finished;
    expect([version.code, version.err]).toEqual([0, '']);
  });

  it('for a second server on the database exits 3, and the first goes on', async () => {
    const first = await startServer();
    const pool = await first.pool('twice');
    const second = await startServer({ folder: first.folder });
    expect((await second.exited).code).toBe(3);
    expect(second.lines).toHaveLength(1);
    expect(second.output).toContain('stop it, or name another with --db');
    expect((await pool.acquire()).status).toBe(200);
  });

  it('for a second server by a link exits 3; one server by a link grants', async () => {
    const volume = new Server();
    const first = new Server();
    symlinkSync(volume.database, first.database);
    await first.start();
    expect((await (await first.pool('linked')).acquire()).status).toBe(200);
    expect(readdirSync(first.folder)).toEqual(['state.db']);
    await volume.start();
    expect((await volume.exited).code).toBe(3);
    expect((await first.stop()).code).toBe(0);
  });

  it.each([
    ['an empty database', 'state.db', 'is an empty file', '', []],
    [
      'a lock that cannot be opened',
      'state.db-lock/in',
      'state.db-lock, cannot be opened: ',
      '',
      [],
    ],
    ['a folder in place of a file', 'state.db/in', 'state.db is a folder; a file is', '', []],
    ['a file in place of a folder', 'data', 'data is a file; a folder is wanted', 'x', ['data']],
    ['a file above the folder', 'data', 'lies below a file; a folder', 'x', ['data', 'a']],
  ])('for %s exits 4 and says so in one line', async (_, name, said, bytes, below) => {
    const home = new Server();
    const path = join(home.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    const flags = ['--db', `file:${join(home.folder, ...below, 'state.db')}`];
    const server = await startServer({ folder: home.folder, flags });
    expect((await server.exited).code).toBe(4);
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain(said);
    expect(readFileSync(path, 'utf8')).toBe(bytes);
  });

  it('for a damaged database exits 4, says so in one line, and changes no byte', async () => {
    const server = await startServer();
    await server.pool('before');
    await server.stop();
    const bytes = readFileSync(server.database);
    bytes.fill(0x55, 4096, 20_000);
    writeFileSync(server.database, bytes);
    const before = digest(server.database);
    await server.start();
    expect((await server.exited).code).toBe(4);
    expect(server.lines).toHaveLength(1);
    expect(digest(server.database)).toBe(before);
  });

  it('for a stored pool that is not right exits 4 with one line that names it', async () => {
    const server = await startServer();
    await server.pool('odd');
    await server.stop();
    const database = new Database(server.database);
    database.exec("UPDATE pool SET settings = json_set(settings, '$.x', 1) WHERE name = 'odd'");
    database.close();
    await server.start();
    expect((await server.exited).code).toBe(4);
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain('pool odd is damaged');
  });

  it('for a file that is no database exits 4 and changes no byte', async () => {
    const server = new Server();
    writeFileSync(server.database, 'this is a shopping list\n'.repeat(500));
    const before = digest(server.database);
    await server.start();
    expect((await server.exited).code).toBe(4);
    expect(digest(server.database)).toBe(before);
  });
});

describe('a stop', () => {
  it('exits 0 within 2 s with twenty idle keep-alive connections', async () => {
    const server = await startServer();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });
    const get = () =>
      new Promise((done, fail) =>
        http.get(`${server.origin}/healthz`, { agent }, (answer) => {
          answer.resume();
          answer.on('end', done);
        }).on('error', fail)
      );
    await Promise.all(Array.from({ length: 20 }, get));
    const startedMs = performance.now();
    expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(2000);
    expect(server.output).not.toContain('stopping');
    agent.destroy();
  });

  it('exits 0 within the drain time beside an answer that does not end', async () => {
    const upstream = http.createServer((_, answer) => void answer.write('begun'));
    await new Promise((done) => upstream.listen(0, '127.0.0.1', () => done(null)));
    const { port } = upstream.address() as net.AddressInfo;
    const server = await startServer({ flags: ['--drain-ms', '2000'] });
    const pool = await server.pool('up', { upstream: { url: `http://127.0.0.1:${port}` } });
    const headers = { host: 'up.localhost', 'x-nthpool-key': pool.key };
    const answer = await new Promise<http.IncomingMessage>((done, fail) => {
      http.get(server.origin, { headers }, done).on('error', fail);
    });
    answer.on('error', () => {}).resume();
    const startedMs = performance.now();
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(1000);
    expect(tookMs).toBeLessThan(2000);
    upstream.closeAllConnections();
    upstream.close();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s tells waiters 503 and keeps leases',
    async (name) => {
      const server = await startServer();
      const pool = await server.pool('drain', { concurrency: { limit: 1 } });
      const { slotId } = await pool.hold();
      const waiting = pool.acquire({ waitMs: 20_000 });
      await sleep(200);
      expect((await server.stop(name)).code).toBe(0);
      const told = await waiting;
      expect(told.status).toBe(503);
      expect(told.json.error).toBe('shutting_down');
      expect(told.headers.get('retry-after')).toBe('1');
      await server.start();
      expect((await pool.renew(slotId)).status).toBe(200);
    },
  );

  it('under load loses no answered grant', async () => {
    const server = await startServer();
    const pool = await server.pool('load', { concurrency: { limit: 500 } });
    const told: string[] = [];
    let isOver = false;
    const worker = async () => {
      while (!isOver) {
        const got = await pool.acquire().catch(() => null);
        if (got?.status === 200) told.push(got.json.slotId);
        else return;
      }
    };
    const workers = Array.from({ length: 10 }, worker);
    await sleep(200);
    expect((await server.stop()).code).toBe(0);
    isOver = true;
    await Promise.all(workers);
    expect(told.length).toBeGreaterThan(5);
    await server.start();
    expect((await pool.status()).inUse).toBe(told.length);
    for (const slotId of told.slice(-20)) expect((await pool.renew(slotId)).status).toBe(200);
  });
});

describe('SIGHUP', () => {
  it('applies a good configuration file, and ignores a bad one', async () => {
    const home = new Server();
    const path = join(home.folder, 'pools.json');
    const write = (limit: number) =>
      writeFileSync(path, JSON.stringify({ pools: [{ name: 'filed', concurrency: { limit } }] }));
    write(2);
    const server = await startServer({ folder: home.folder, flags: ['--config', path] });
    const limit = async () => (await server.admin('GET', '/pools/filed')).json.concurrency.limit;
    expect(await limit()).toBe(2);
    const change = await server.admin('PATCH', '/pools/filed', { concurrency: { limit: 9 } });
    expect(change.json.error).toBe('managed_by_config');
    write(5);
    server.signal('SIGHUP');
    await sleep(500);
    expect(await limit()).toBe(5);
    write(0);
    server.signal('SIGHUP');
    await sleep(500);
    expect(await limit()).toBe(5);
    expect(server.output).toContain('not reloaded');
  });
});
