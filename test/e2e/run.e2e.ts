/** `nthbouncer run` with real processes: what it does for its command, and what it survives. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sleep, sources, start } from './process.ts';
import { lease, pool, run, server, TERM_MS } from './run_stage.ts';
import { startServer } from './server.ts';
import { Ticker } from './ticker.ts';

/** A pool whose term leaves time for a restart on a busy machine; what its callers need. */
async function patient(name: string) {
  const settings = { concurrency: { limit: 1 }, lease: { ...lease, termMs: 2 * TERM_MS } };
  const calls = await server.pool(name, settings);
  return { calls, env: { NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: calls.key } };
}

/** Kills the server, and tells when the lease that it knew of ends at the earliest. */
async function killServer(): Promise<number> {
  // A lease of an earlier test may be left, which the restart gave a new term.
  const deadlineMs = Math.max(...await pool.deadlines());
  await server.stop('SIGKILL');
  return deadlineMs;
}

describe('run', () => {
  it('takes its options before the pool and after it, and none of the command’s', async () => {
    const env = { NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: pool.key };
    const words = [
      'run',
      'p',
      '--wait',
      '20s',
      '--',
      'sh',
      '-c',
      'echo "$@"',
      'sh',
      '--wait',
      '--',
    ];
    const { code, out } = await start(words, env).finished;
    expect({ code, out }).toEqual({ code: 0, out: '--wait --\n' });
  });

  it('without a key says that none is set', async () => {
    const env = { NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: '' };
    const { code, err } = await start(['run', 'p', '--', 'true'], env).finished;
    expect({ code, err }).toEqual({
      code: 5,
      err: expect.stringMatching(/^nthbouncer: no slot of p: .* NTHBOUNCER_KEY is not set\.\n$/),
    });
  });

  it('shows no key that cannot be sent, nor takes it for a server that is away', async () => {
    const path = join(server.folder, 'two-keys');
    writeFileSync(path, `${pool.key}\n${pool.key}\n`);
    const env = { NTHBOUNCER_URL: server.origin };
    for (
      const [words, more] of [
        [['run', '--key-file', path, '--wait', '20s', 'p', '--', 'true'], {}],
        [['run', '--wait', '20s', 'p', '--', 'true'], { NTHBOUNCER_KEY: `${pool.key} x` }],
        [['pool', 'list'], { NTHBOUNCER_ADMIN_TOKEN: `${pool.key}\nx` }],
      ] as const
    ) {
      const { code, err, out } = await start([...words], { ...env, ...more }).finished;
      expect(code).toBe(2);
      expect(err).toContain('one word of visible ASCII');
      expect(err + out).not.toContain(pool.key);
    }
  });

  it('hands the slot to the command, keeps our secrets, and gives its exit code', async () => {
    const script = 'env | grep ^NTHBOUNCER_ | cut -d= -f1 | sort; exit 7';
    const { code, out } = await run([], ['sh', '-c', script]).finished;
    expect(out).toBe('NTHBOUNCER_FENCE\nNTHBOUNCER_POOL\nNTHBOUNCER_SLOT_ID\n');
    expect(code).toBe(7);
    expect(await pool.deadlines()).toEqual([]);
  });

  it('fails at once without a slot, and waits for one where it is asked to', async () => {
    const path = join(server.folder, 'go');
    const first = run([], ['sh', '-c', 'until [ -e "$1" ]; do sleep 0.05; done', 'sh', path]);
    while ((await pool.deadlines()).length === 0) await sleep(20);
    const third = run(['--wait', '20s'], ['true']);
    const second = await run([], ['true']).finished;
    expect(second).toMatchObject({ code: 75, err: expect.stringContaining('full') });
    writeFileSync(path, '');
    expect((await third.finished).code).toBe(0);
    expect((await first.finished).code).toBe(0);
  });

  it('tells of a command that there is not, and holds nothing for it', async () => {
    expect((await run([], ['no-such-command']).finished).code).toBe(127);
    expect((await run([], [resolve('package.json')]).finished).code).toBe(126);
    expect(await pool.deadlines()).toEqual([]);
  });

  it("runs the line that the README and the console's document show", async () => {
    const script = join(server.folder, 'call.sh');
    writeFileSync(script, '#!/bin/sh\necho "called $*"\n', { mode: 0o755 });
    writeFileSync(join(server.folder, 'call-the-api.sh'), readFileSync(script), { mode: 0o755 });
    const { json } = await server.admin('POST', '/pools/default/keys', { name: 'test' });
    const env = { NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: json.key };
    const shown = ['README.md', 'docs/console.md'].flatMap((path) => [
      ...readFileSync(path, 'utf8').matchAll(/nthbouncer (run default [^`\n]*)/g),
    ]);
    expect(shown.length).toBeGreaterThanOrEqual(2);
    for (const [, line = ''] of shown) {
      const { finished } = start(line.split(' '), env, { cwd: server.folder });
      expect(await finished, line).toMatchObject({ code: 0, out: 'called \n', err: '' });
    }
    for (const option of ['--wiat', '-w']) {
      const { finished } = start(['run', 'default', option, '3s', '--', './call.sh'], env);
      expect(await finished).toMatchObject({
        code: 2,
        out: '',
        err: `nthbouncer: unknown option '${option}'\n`,
      });
    }
    const { out: help } = await start(['run', 'default', '--help'], env).finished;
    expect(help).toContain('nthbouncer run POOL [options] -- COMMAND');
    expect(await start(['run', 'default', '--wait', '1s'], env).finished)
      .toMatchObject({
        code: 2,
        err: expect.stringContaining("missing required argument 'command'"),
      });
  });

  it('runs from source by npm, with the permissions that it needs', async () => {
    const words = ['run', 'p', '--wait', '30s', '--', 'sh', '-c', 'echo "$1"; exit 3', 'sh', '--x'];
    const child = spawn('npm', ['run', '-s', 'nthbouncer', '--', ...words], {
      env: { ...process.env, NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: pool.key },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => out += chunk);
    expect(await new Promise((done) => child.once('close', done))).toBe(3);
    expect(out).toBe('--x\n');
  });

  it('survives a restart of the server, and a term gone by', async () => {
    const { calls, env } = await patient('q');
    const { finished } = start(['run', 'q', '--', 'sleep', '9'], env);
    while ((await calls.deadlines()).length === 0) await sleep(20);
    await sleep(700);
    await server.stop('SIGKILL');
    await server.start();
    expect(await calls.deadlines()).toHaveLength(1);
    expect((await finished).code).toBe(0);
    expect(await calls.deadlines()).toEqual([]);
  });

  it('waits through a restart of the server', async () => {
    const { calls, env } = await patient('r');
    const first = start(['run', 'r', '--', 'sleep', '6'], env);
    while ((await calls.deadlines()).length === 0) await sleep(20);
    const second = start(['run', '--wait', '20s', 'r', '--', 'true'], env);
    await sleep(700);
    await server.stop('SIGKILL');
    await server.start();
    expect((await first.finished).code).toBe(0);
    expect((await second.finished).code).toBe(0);
  });

  it.each([
    ['ends the command', ''],
    ['kills a command that ignores SIGTERM', 'trap "" TERM;'],
  ])('%s in time when the server is gone past the term', async (_, trap) => {
    const ticker = new Ticker(server.folder, trap);
    const { finished } = run([], ticker.command);
    await ticker.begun();
    await sleep(1_200);
    const endsAtMs = await killServer();
    const { code } = await finished;
    // Before anything is judged: the tests that follow need it as well.
    await server.start();
    await server.admin('PATCH', '/pools/p', { concurrency: { limit: 9 } });
    expect(ticker.lastMs).toBeLessThan(endsAtMs);
    expect(ticker.lastMs).toBeGreaterThan(endsAtMs - TERM_MS / 2);
    expect(code).toBe(124);
  });

  it('works for most of a life much shorter than the term, and ends in time', async () => {
    const short = { termMs: 30_000, requestTimeoutMs: 2_000 };
    const calls = await server.pool('short', { concurrency: { limit: 1 }, lease: short });
    const env = { NTHBOUNCER_URL: server.origin, NTHBOUNCER_KEY: calls.key };
    expect(await start(['run', 'short', '--', 'true'], env).finished).toMatchObject({ code: 0 });
    const ticker = new Ticker(server.folder);
    const { finished } = start(['run', 'short', '--', ...ticker.command], env);
    await ticker.begun();
    const endsAtMs = Math.max(...await calls.deadlines());
    const { code, err } = await finished;
    expect({ code, err }).toEqual({
      code: 124,
      err: 'nthbouncer: The lease reached its request deadline. The command must end.\n',
    });
    expect(ticker.lastMs).toBeLessThan(endsAtMs);
    expect(await calls.deadlines()).toEqual([]);
  });

  it("does not mind a wall clock that jumps, its own and the server's", async () => {
    const isJumpy = { program: sources('test/e2e/jumpy_main.ts') };
    const jumpy = await startServer(isJumpy);
    const there = await jumpy.pool('p', { concurrency: { limit: 1 }, lease });
    const env = { NTHBOUNCER_URL: jumpy.origin, NTHBOUNCER_KEY: there.key };
    const first = start(['run', 'p', '--', 'sleep', '5'], env, isJumpy);
    while ((await there.deadlines()).length === 0) await sleep(20);
    const second = start(['run', '--wait', '20s', 'p', '--', 'true'], env, isJumpy);
    await sleep(4_000);
    expect(second.process.exitCode).toBe(null);
    expect((await first.finished).code).toBe(0);
    expect(await second.finished).toMatchObject({ code: 0, err: '' });
  });

  it('forwards signals, and kills on a second Ctrl-C', async () => {
    const ticker = new Ticker(server.folder, 'trap "echo heard" INT;');
    const running = run([], ticker.command);
    await ticker.begun();
    running.process.kill('SIGINT');
    await sleep(500);
    expect(ticker.lastMs).toBeGreaterThan(Date.now() - 400);
    running.process.kill('SIGINT');
    const { code, out } = await running.finished;
    expect(code).toBe(137);
    expect(out).toContain('heard');
    const loop = 'trap "exit 3" TERM; echo begun; while :; do sleep 0.05; done';
    const polite = run([], ['sh', '-c', loop]);
    while (!polite.out.includes('begun')) await sleep(20);
    polite.process.kill('SIGTERM');
    expect((await polite.finished).code).toBe(3);
  });

  it("ends what the command left behind, before the slot is another's", async () => {
    const ticker = new Ticker(server.folder);
    const script = `(${ticker.command[2]}) & sleep 1`;
    expect((await run([], ['sh', '-c', script]).finished).code).toBe(0);
    const stoppedMs = ticker.lastMs;
    expect(stoppedMs).toBeGreaterThan(0);
    await sleep(300);
    expect(ticker.lastMs).toBe(stoppedMs);
  });

  it('kills at once what runs on a slot that was taken back', async () => {
    const ticker = new Ticker(server.folder, 'trap "" TERM;');
    const running = run(['--holder', 'victim'], ticker.command);
    await ticker.begun();
    const { json } = await server.admin('GET', '/pools/p/slots');
    const [slot] = (json.slots as { ref: string; holder: string }[]).filter(({ holder }) =>
      holder === 'victim'
    );
    await server.admin('DELETE', `/pools/p/slots/${slot?.ref}`);
    const { code, err, tookMs } = await running.finished;
    expect(code).toBe(124);
    expect(err).toContain('took the slot back');
    expect(tookMs).toBeLessThan(TERM_MS + 2_000);
  });
}, 20_000);
