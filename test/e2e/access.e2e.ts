/** What only a whole process can show: files, exit codes, restarts, and that no secret gets out. */
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { signedHeaders } from '../../src/access/signed_text.ts';
import { canary } from './canary.ts';
import { endAll, freshFolder, type Running, start } from './process.ts';
import { ADMIN_TOKEN as ADMIN, until } from './server.ts';
import { rawToken } from '../access/tokens.ts';

const MASTER = canary('master-key');
const HMAC = canary('hmac-secret');
const JWT = canary('jwt-secret');
const ENV = { NTHBOUNCER_ADMIN_TOKEN: ADMIN, NTHBOUNCER_MASTER_KEY: '' };
const TIMEOUT = 60_000;
afterEach(endAll);

function serve(path: string, env: Record<string, string> = {}): Running {
  return start(['serve', '--port', '0', '--db', `file:${path}/n.db`], { ...ENV, ...env });
}

const run = (words: readonly string[], env?: Record<string, string>) => start(words, env).finished;

/** What is printed about the time of the start may come after the line that it listens. */
function printed(running: Running, text: string): Promise<void> {
  return until(text, () => Promise.resolve(new RegExp(`${text}.*\n`).test(running.output)));
}

/** What is in the files, but for the one that the operating system maps. */
function bytesIn(path: string): Map<string, string> {
  const names = readdirSync(path).filter((name) => !name.endsWith('-shm')).sort();
  return new Map(names.map((name) => [name, readFileSync(join(path, name)).toString('base64')]));
}

class Api {
  readonly origin: string;
  /** The text of all answers, so that they can be searched. */
  seen = '';

  constructor(origin: string) {
    this.origin = origin;
  }

  async call(method: string, path: string, more: { headers?: HeadersInit; body?: unknown } = {}) {
    const { headers = {}, body } = more;
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const answer = await fetch(`${this.origin}${path}`, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    const answered = await answer.text();
    this.seen += `${JSON.stringify([...answer.headers])}\n${answered}\n`;
    return { status: answer.status, text: answered };
  }

  admin(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${ADMIN}` };
    return this.call(method, `/admin/api${path}`, { headers, body });
  }

  signed(pool: string, path = 'acquire', body = '') {
    const target = `/pools/${pool}/lock/${path}`;
    return signedHeaders(HMAC, {
      pool,
      door: 'lock',
      timestamp: String(Date.now()),
      nonce: crypto.randomUUID(),
      method: 'POST',
      target,
      body: new TextEncoder().encode(body),
    });
  }
}

const SIGNED = { key: { required: false }, hmac: { secrets: [HMAC] } };

test('a signed call is refused after kill -9 and after a clean stop', async () => {
  const path = freshFolder();
  const first = serve(path);
  const api = new Api(await first.listening());
  await api.admin('POST', '/pools', { name: 'p', access: SIGNED });
  const killed = api.signed('p');
  const acquire = (at: Api, headers: HeadersInit) =>
    at.call('POST', '/pools/p/lock/acquire', { headers });
  expect((await acquire(api, killed)).status).toBe(200);
  await first.stop('SIGKILL');

  const second = serve(path);
  const api2 = new Api(await second.listening());
  const stopped = api2.signed('p');
  expect((await acquire(api2, killed)).status).toBe(401);
  expect((await acquire(api2, stopped)).status).toBe(200);
  expect((await second.stop()).code).toBe(0);

  const api3 = new Api(await serve(path).listening());
  expect((await acquire(api3, killed)).status).toBe(401);
  expect((await acquire(api3, stopped)).status).toBe(401);
  expect((await acquire(api3, api3.signed('p'))).status).toBe(200);
}, TIMEOUT);

describe('the master key', () => {
  test("is made in a file of its owner's alone, and a lost or wrong one is told", async () => {
    const path = freshFolder();
    const first = serve(path);
    const api = new Api(await first.listening());
    const file = join(path, 'master-key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await api.admin('POST', '/pools', { name: 'prod-a', access: SIGNED });
    await api.admin('POST', '/pools', { name: 'prod-b', access: SIGNED });
    // A server that is killed leaves what it wrote in the log beside the database.
    await api.call('POST', '/pools/prod-b/lock/acquire', { headers: api.signed('prod-b') });
    await first.stop('SIGKILL');

    renameSync(file, `${file}.kept`);
    const before = bytesIn(path);
    expect(before.get('n.db-wal')).not.toBe('');
    const lost = await serve(path).finished;
    expect(lost.code).toBe(4);
    expect(lost.output.trim().split('\n')).toHaveLength(1);
    expect(lost.output).toContain('the master key is gone');
    expect(lost.output).toContain('pools prod-a, prod-b');
    expect(existsSync(file)).toBe(false);

    const wrong = await serve(path, { NTHBOUNCER_MASTER_KEY: MASTER }).finished;
    expect([wrong.code, wrong.output.includes('does not open the secrets of pools prod-a, prod-b')])
      .toEqual([4, true]);
    expect(wrong.output).not.toContain(MASTER);
    const env = { NTHBOUNCER_MASTER_KEY: MASTER, NTHBOUNCER_NEW_MASTER_KEY: canary('new-key') };
    const rekeyed = await run(['rekey', '--db', `file:${path}/n.db`], { ...ENV, ...env });
    expect([rekeyed.code, rekeyed.output.includes('nothing was changed')]).toEqual([4, true]);
    expect(bytesIn(path)).toEqual(before);

    renameSync(`${file}.kept`, file);
    const again = new Api(await serve(path).listening());
    const headers = again.signed('prod-a');
    expect((await again.call('POST', '/pools/prod-a/lock/acquire', { headers })).status).toBe(200);
  }, TIMEOUT);

  test('that is too short ends the start before anything is touched', async () => {
    const path = freshFolder();
    const { code, output } = await serve(path, { NTHBOUNCER_MASTER_KEY: 'short' }).finished;
    expect([code, output.includes('NTHBOUNCER_MASTER_KEY is too short')]).toEqual([2, true]);
    expect(readdirSync(path)).toEqual([]);
  }, TIMEOUT);

  test('is changed by rekey, from a file and in the environment', async () => {
    const path = freshFolder();
    const db = ['rekey', '--db', `file:${path}/n.db`];
    const first = serve(path);
    await new Api(await first.listening()).admin('POST', '/pools', { name: 'p', access: SIGNED });
    expect((await run(db, ENV)).code).toBe(3);
    await first.stop();
    const before = readFileSync(join(path, 'master-key'), 'utf8');
    const renewed = await run(db, ENV);
    expect([renewed.code, renewed.output]).toEqual([
      0,
      `sealed the secrets of 1 pools anew\nthe new key is in ${path}/master-key\n`,
    ]);
    expect(readFileSync(join(path, 'master-key'), 'utf8')).not.toBe(before);
    const wrong = await run(db, {
      ...ENV,
      NTHBOUNCER_MASTER_KEY: `not ${MASTER}`,
      NTHBOUNCER_NEW_MASTER_KEY: MASTER,
    });
    expect([wrong.code, wrong.output.includes('nothing was changed')]).toEqual([4, true]);
    const moved = await run(db, { ...ENV, NTHBOUNCER_NEW_MASTER_KEY: MASTER });
    expect(moved.code).toBe(0);
    expect(readFileSync(join(path, 'master-key'), 'utf8').trim()).toBe(MASTER);

    const api = new Api(await serve(path, { NTHBOUNCER_MASTER_KEY: MASTER }).listening());
    const headers = api.signed('p');
    expect((await api.call('POST', '/pools/p/lock/acquire', { headers })).status).toBe(200);
  }, TIMEOUT);
});

test('sign prints headers that pass, and takes the secret from no flag', async () => {
  const path = freshFolder();
  const api = new Api(await serve(path).listening());
  await api.admin('POST', '/pools', { name: 'p', access: SIGNED });
  const body = '{"holder":"ü"}';
  const args = ['sign', '--pool', 'p', '--body', body, `${api.origin}/pools/p/lock/acquire?x=%2f`];
  const { code, out } = await run(args, { NTHBOUNCER_HMAC_SECRET: HMAC });
  expect(code).toBe(0);
  const lines = out.trim().split('\n').map((line) => line.split(': ') as [string, string]);
  expect(lines.map(([name]) => name)).toEqual([
    'X-Nthpool-Timestamp',
    'X-Nthpool-Nonce',
    'X-Nthpool-Signature',
  ]);
  const answer = await api.call('POST', '/pools/p/lock/acquire?x=%2f', { headers: lines, body });
  expect(answer.status).toBe(200);
  expect((await run(args, { NTHBOUNCER_HMAC_SECRET: '' })).code).toBe(2);
  expect((await run([...args, '--secret', HMAC])).code).toBe(2);
  args[2] = 'q';
  const other = await run(args, { NTHBOUNCER_HMAC_SECRET: HMAC });
  expect(other.code).toBe(2);
  expect(other.output).toMatch(/^nthbouncer: sign: --pool is q, and http.* is of the pool p\n$/);
}, TIMEOUT);

test('a pool without a key on a listener beyond loopback is warned about', async () => {
  const path = freshFolder();
  const first = serve(path);
  const api = new Api(await first.listening());
  await api.admin('POST', '/pools', { name: 'open', access: { key: { required: false } } });
  await first.stop();
  expect(first.output).not.toContain('wants no key');
  const words = ['serve', '--port', '0', '--host', '0.0.0.0', '--db', `file:${path}/n.db`];
  const second = start(words, ENV);
  await second.listening();
  await printed(second, 'wants no key');
  expect(second.output).toContain('pool "open" wants no key: anybody who reaches');
  expect(second.output).not.toContain('pool "default" wants no key');
}, TIMEOUT);

test('no secret is found in database, log or answers; no slotId in the log', async () => {
  const path = freshFolder();
  const server = serve(path, { NTHBOUNCER_MASTER_KEY: MASTER });
  const api = new Api(await server.listening());
  await printed(server, 'try it: ');
  const firstStart = server.output;
  const firstKey = firstStart.match(/nb_live_\w+/)?.[0] ?? '';
  const access = { hmac: { secrets: [HMAC] }, jwt: { secret: JWT, header: 'x-token' } };
  await api.admin('POST', '/pools', { name: 'all', access });
  await api.admin('POST', '/pools', { name: 'keyed' });
  await api.admin('PATCH', '/pools/all', { access: { hmac: { toleranceMs: 4000 } } });
  const keys: string[] = [];
  for (const pool of ['all', 'keyed']) {
    const made = await api.admin('POST', `/pools/${pool}/keys`, { name: 'k' });
    keys.push(JSON.parse(made.text).key);
  }
  // A new key is shown once, there and nowhere else.
  api.seen = '';
  const [allKey = '', keyedKey = ''] = keys;
  const token = rawToken({ alg: 'HS256' }, { exp: 4e9, canary: 'canary-in-token' }, 'AAAA');
  const acquired = await api.call('POST', '/pools/keyed/lock/acquire', {
    headers: { 'x-nthpool-key': keyedKey },
    body: { holder: 'worker' },
  });
  const { slotId } = JSON.parse(acquired.text);
  const near = `${keyedKey.slice(0, -1)}${keyedKey.endsWith('x') ? 'y' : 'x'}`;
  for (const key of [allKey, keyedKey, near, firstKey]) {
    for (const pool of ['all', 'keyed', 'default', 'unknown', `${slotId}`]) {
      for (const name of ['x-nthpool-key', 'authorization', 'x-token', 'x-nthpool-signature']) {
        const headers = { ...api.signed(pool), 'x-token': token, [name]: key };
        await api.call('POST', `/pools/${pool}/lock/acquire?key=${key}`, { headers, body: key });
      }
    }
  }
  for (
    const body of [{ name: `${HMAC}!` }, { name: 'x', access: { jwt: { secret: [JWT] } } }, JWT]
  ) {
    // What an administrator just typed may be told as the place of a mistake, not as a value.
    await api.admin('POST', '/pools', body);
  }
  for (const authorization of [`Bearer ${ADMIN}x`, `Bearer ${MASTER}`, `Basic ${ADMIN}`]) {
    await api.call('GET', '/admin/api/pools', { headers: { authorization } });
  }
  const reads = [
    '/pools',
    '/pools/all',
    '/pools/all/keys',
    '/pools/all/status',
    '/pools/keyed/slots',
    '/pools/keyed/log',
    '/pools/all/log',
    '/version',
  ];
  const shown = api.seen;
  for (const read of reads) expect((await api.admin('GET', read)).status).toBe(200);
  const adminSeen = api.seen.slice(shown.length);
  await server.stop();

  const files = readdirSync(path).map((name) => readFileSync(join(path, name), 'latin1')).join();
  const log = server.output.slice(firstStart.length);
  const canaries = { ADMIN, MASTER, HMAC, JWT, allKey, keyedKey, near, firstKey, token };
  for (const [name, canary] of Object.entries(canaries)) {
    expect(canary.length).toBeGreaterThan(20);
    for (const form of [canary, Buffer.from(canary).toString('base64').slice(0, 24)]) {
      expect({ name, in: 'files', found: files.includes(form) }).toMatchObject({ found: false });
      expect({ name, in: 'log', found: log.includes(form) }).toMatchObject({ found: false });
      expect({ name, in: 'answers', found: api.seen.includes(form) }).toMatchObject({
        found: false,
      });
    }
  }
  expect(log).not.toContain(slotId);
  expect(adminSeen).not.toContain(slotId);
}, TIMEOUT);
