/** The console's commands against a running server, as a person or a script would call them. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/client.ts';
import { type Finished, sleep, start } from './process.ts';
import { Server } from './server.ts';

const server = new Server({ keepsPort: true });
beforeAll(() => server.start());

function nthbouncer(...words: string[]): Promise<Finished> {
  return start(words, server.env, { cwd: server.folder }).finished;
}

async function json(...words: string[]): Promise<unknown> {
  const { code, out, err } = await nthbouncer(...words, '--json');
  expect(err).toBe('');
  expect(code).toBe(0);
  return JSON.parse(out);
}

describe('the console', () => {
  it('makes, shows, changes, pauses and deletes a pool', async () => {
    const made = await nthbouncer('pool', 'create', 'acme', 'concurrency.limit=4');
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('acme') });
    const again = await nthbouncer('pool', 'create', 'acme');
    expect(again).toMatchObject({ code: 5, err: expect.stringContaining('exists already') });
    await json('pool', 'set', 'acme', 'concurrency.limit=2', 'queue.timeoutMs=5000');
    expect(await json('pool', 'show', 'acme')).toMatchObject({
      concurrency: { limit: 2 },
      queue: { timeoutMs: 5_000 },
    });
    expect(await nthbouncer('pool', 'show', 'acme')).toMatchObject({ code: 0, err: '' });
    await json('pool', 'set', 'acme', 'access.key.required=false');
    const { err } = await nthbouncer('pool', 'show', 'acme');
    expect(err).toContain('acme wants no key: anybody may call it');
    await json('pool', 'pause', 'acme', '--for', '1h', '--reason', 'lunch');
    expect(await json('explain', 'acme')).toMatchObject({
      refuses: 'pause',
      gates: [{ gate: 'pause', isOpen: false, until: expect.any(Number) }, {}, {}, {}],
    });
    const { out } = await nthbouncer('explain', 'acme');
    expect(out).toMatch(/^acme would refuse now, until 20.*Z: paused by the operator: lunch\.\n/);
    await json('pool', 'resume', 'acme');
    expect(await json('explain', 'acme')).toMatchObject({ refuses: null });
    const { out: table } = await nthbouncer('pool', 'list');
    expect(table).toMatch(/^POOL +IN USE +LIMIT .*\n(.*\n)?acme +0 +2 /);
    expect(await nthbouncer('pool', 'delete', 'acme')).toMatchObject({
      code: 2,
      err: 'nthbouncer: pool delete: --yes is wanted (without a terminal)\n',
    });
    await json('pool', 'delete', 'acme', '--yes');
    expect(await nthbouncer('pool', 'show', 'acme')).toMatchObject({ code: 5 });
  });

  it('takes no bound for what it is, and shows it', async () => {
    const url = 'upstream.url=http://127.0.0.1:9';
    await json('pool', 'create', 'unbound', url);
    await json('pool', 'set', 'unbound', 'upstream.requestTimeoutMs=null');
    const { out } = await nthbouncer('pool', 'show', 'unbound');
    expect(out).toContain('\nupstream.requestTimeoutMs=null\n');
  });

  it('makes a key that works until it is revoked', async () => {
    await json('pool', 'create', 'keys');
    const { out } = await nthbouncer('key', 'create', 'keys', '--name', 'w', '--expires-in', '1d');
    const pool = connect({ url: server.origin, pool: 'keys', key: out.trim() });
    await (await pool.acquire()).release();
    const [row] = await json('key', 'list', 'keys') as Record<string, unknown>[];
    expect(row).toMatchObject({ name: 'w', expiresAt: expect.any(Number) });
    expect(JSON.stringify(row)).not.toContain(out.trim());
    await json('key', 'revoke', 'keys', String(row?.['id']));
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('shows who holds and who waits, and takes a slot back', async () => {
    const { key } = await server.pool('held', { concurrency: { limit: 1 } });
    const pool = connect({ url: server.origin, pool: 'held', key });
    const slot = await pool.acquire({ holder: 'first' });
    const next = pool.acquire({ waitMs: 20_000, holder: 'second' });
    const [held] = await json('slots', 'held') as Record<string, unknown>[];
    expect(held).toMatchObject({ holder: 'first' });
    expect(await json('slots', 'held', '--waiting')).toMatchObject([{ holder: 'second' }]);
    expect(await json('explain', 'held')).toMatchObject({ refuses: 'queue' });
    expect((await nthbouncer('top')).out).toMatch(/\nheld +1 +1 +1 /);
    await json('kill', 'held', String(held?.['ref']));
    expect(await (await next).release()).toBe(true);
    expect(await slot.release()).toBe(false);
    expect(await nthbouncer('kill', 'held', String(held?.['ref']))).toMatchObject({ code: 5 });
  });

  it('drains a pool: pauses it, and ends when nothing is in use', async () => {
    const { key } = await server.pool('drained');
    const slot = await connect({ url: server.origin, pool: 'drained', key }).acquire();
    const drain = start(['pool', 'drain', 'drained', '--json'], server.env);
    const paused = async () =>
      (await server.admin('GET', '/pools/drained/status')).json.paused === true;
    while (!await paused()) await sleep(50);
    await sleep(700);
    expect(drain.process.exitCode).toBe(null);
    await slot.release();
    const { code, out } = await drain.finished;
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('"drained": true') });
    expect(await paused()).toBe(true);
  });

  it('drains no more, and says so, once the pool is resumed', async () => {
    const { key } = await server.pool('resumed');
    const slot = await connect({ url: server.origin, pool: 'resumed', key }).acquire();
    const drain = start(['pool', 'drain', 'resumed'], server.env);
    const status = async () => (await server.admin('GET', '/pools/resumed/status')).json;
    while (!(await status()).paused) await sleep(50);
    await server.admin('POST', '/pools/resumed/resume');
    const { code, output } = await drain.finished;
    const said = expect.stringContaining('the pool resumed was resumed before it was empty');
    expect({ code, output }).toEqual({ code: 1, output: said });
    await slot.release();
  });

  it('says that the log is empty, and which outcomes there are', async () => {
    await json('pool', 'create', 'quiet');
    const nobody = 'No attempt is in the log.\n';
    expect(await nthbouncer('log', 'quiet')).toMatchObject({ code: 0, out: nobody });
    const { code, err: outcomes } = await nthbouncer('log', 'quiet', '--outcome', 'nope');
    expect({ code, outcomes }).toMatchObject({ code: 2 });
    expect(outcomes).toContain('It must be one of granted, client_gone, invalid_request, ');
  });

  it('follows the access log, through a restart of the server too', async () => {
    const { key } = await server.pool('logged');
    const pool = connect({ url: server.origin, pool: 'logged', key });
    // The older one was not asked for, and is no news either.
    await (await pool.acquire({ holder: 'older' })).release();
    await (await pool.acquire({ holder: 'before' })).release();
    const words = ['log', 'logged', '-f', '-n', '1', '--json'];
    const { process, finished } = start(words, server.env);
    const printed = () => new Promise((done) => process.stdout?.once('data', done));
    await printed();
    await (await pool.acquire({ holder: 'after' })).release();
    await printed();
    await server.stop();
    await sleep(1_500);
    await server.start();
    await (await pool.acquire({ holder: 'later' })).release();
    await printed();
    await sleep(1_500);
    process.kill('SIGTERM');
    const { out, err } = await finished;
    const holders = out.trim().split('\n').map((line) => JSON.parse(line).holder);
    expect(holders).toEqual(['before', 'after', 'later']);
    expect(err).toMatch(/^nthbouncer: http:.* does not answer: .*; it is asked again .*\n$/);
  });

  it('finds a server well, and one that is not there', async () => {
    expect(await nthbouncer('doctor')).toMatchObject({ code: 0 });
    const gone = { ...server.env, NTHBOUNCER_URL: 'http://127.0.0.1:18799' };
    expect(await start(['doctor'], gone).finished).toMatchObject({ code: 1 });
    const listed = await start(['pool', 'list'], gone).finished;
    expect(listed).toMatchObject({ code: 6, err: expect.stringContaining('does not answer') });
    const stranger = { ...server.env, NTHBOUNCER_ADMIN_TOKEN: 'x'.repeat(40) };
    expect(await start(['pool', 'list'], stranger).finished).toMatchObject({ code: 5 });
    const { NTHBOUNCER_URL } = server.env;
    const bare = await start(['pool', 'list'], { NTHBOUNCER_URL: NTHBOUNCER_URL ?? '' }).finished;
    expect(bare).toMatchObject({ code: 2, err: expect.stringContaining('NTHBOUNCER_ADMIN_TOKEN') });
  });

  it('backs the database up while it is used, and restores it', async () => {
    const { key } = await server.pool('kept', { concurrency: { limit: 500 } });
    const pool = connect({ url: server.origin, pool: 'kept', key });
    const held = await pool.acquire({ holder: 'held' });
    let isDone = false;
    const traffic = (async () => {
      while (!isDone) await (await pool.acquire()).release();
    })();
    const file = join(server.folder, 'backup.db');
    const made = await nthbouncer('backup', file, '--db', server.db);
    isDone = true;
    await traffic;
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await nthbouncer('backup', file, '--db', server.db)).toMatchObject({ code: 2 });
    expect(await nthbouncer('restore', file, '--db', server.db)).toMatchObject({ code: 3 });
    await json('pool', 'create', 'later');
    await server.stop();
    const restored = await nthbouncer('restore', file, '--db', server.db);
    expect(restored).toMatchObject({ code: 0, err: '' });
    expect(existsSync(join(server.folder, 'state.db.before-restore-1'))).toBe(true);
    await server.start();
    const names = (await json('pool', 'list') as { name: string }[]).map(({ name }) => name);
    expect(names).toContain('kept');
    expect(names).not.toContain('later');
    const slots = await json('slots', 'kept') as { holder: string }[];
    expect(slots.map(({ holder }) => holder)).toContain('held');
    expect((await pool.acquire()).fence).toBeGreaterThan(held.fence);
    const bad = await nthbouncer('restore', resolve('package.json'), '--db', server.db);
    expect(bad).toMatchObject({ code: 4, err: expect.stringContaining('cannot be restored') });
  });

  it('answers a repeated acquire with the same slot, over a restart too', async () => {
    const { key } = await server.pool('again', { concurrency: { limit: 2 } });
    const acquire = async () => {
      const response = await fetch(`${server.origin}/pools/again/lock/acquire`, {
        method: 'POST',
        headers: { 'x-nthpool-key': key, 'idempotency-key': 'once' },
      });
      return await response.json() as { slotId: string; fence: number };
    };
    const first = await acquire();
    expect(await acquire()).toMatchObject({ slotId: first.slotId, fence: first.fence });
    await server.stop('SIGKILL');
    await server.start();
    expect(await acquire()).toMatchObject({ slotId: first.slotId, fence: first.fence });
    expect(await json('slots', 'again')).toHaveLength(1);
  });
}, 30_000);
