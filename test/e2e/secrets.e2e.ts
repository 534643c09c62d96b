/** Secrets that a configuration file names, and what the process may do once it runs. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { signedHeaders } from '../../src/access/signed_text.ts';
import { canary } from './canary.ts';
import { endAll, freshFolder, sources } from './process.ts';
import { type Server, startServer } from './server.ts';

afterEach(endAll);

const SECRET = canary('hmac-secret');
const TARGET = '/pools/filed/lock/acquire';

function fileOf(path: string, secret: unknown): string {
  const file = join(path, 'pools.json');
  const access = { key: { required: false }, hmac: { secrets: [secret] } };
  writeFileSync(file, JSON.stringify({ pools: [{ name: 'filed', access }] }));
  return file;
}

function serve(folder: string, env: Record<string, string> = {}): Promise<Server> {
  return startServer({ folder, flags: ['--config', join(folder, 'pools.json')], env });
}

async function signedStatus({ origin }: Server): Promise<number> {
  const headers = signedHeaders(SECRET, {
    pool: 'filed',
    door: 'lock',
    timestamp: String(Date.now()),
    nonce: crypto.randomUUID(),
    method: 'POST',
    target: TARGET,
    body: new Uint8Array(0),
  });
  return (await fetch(`${origin}${TARGET}`, { method: 'POST', headers })).status;
}

describe('a secret of the configuration file', () => {
  test('is read from the environment or a file, and sealed like any other', async () => {
    const path = freshFolder();
    fileOf(path, { env: 'POOL_SECRET' });
    const first = await serve(path, { POOL_SECRET: SECRET });
    expect(await signedStatus(first)).toBe(200);
    await first.stop();
    writeFileSync(join(path, 'secret'), `${SECRET}\n`);
    fileOf(path, { file: join(path, 'secret') });
    const second = await serve(path);
    expect(await signedStatus(second)).toBe(200);
    await second.stop();
    for (const name of readdirSync(path).filter((name) => name !== 'secret')) {
      expect(readFileSync(join(path, name), 'latin1')).not.toContain(SECRET);
    }
  });

  test.each<[string, unknown]>([
    ['written in plain', SECRET],
    ['of a variable that is not set', { env: 'NOBODY_SETS_THIS' }],
    ['of a file that is not there', { file: '/nowhere/secret' }],
    ['of two places', { env: 'A', file: 'b' }],
  ])('%s ends the start in one line that names it, and nothing is touched', async (_, secret) => {
    const path = freshFolder();
    fileOf(path, secret);
    const server = await serve(path);
    expect((await server.exited).code).toBe(2);
    expect(server.lines).toHaveLength(1);
    expect(server.output).toContain('access.hmac.secrets.0');
    expect(server.output).not.toContain(SECRET);
    expect(readdirSync(path)).toEqual(['pools.json']);
  });
});

describe('permissions', () => {
  test('that SECURITY.md names are enough', async () => {
    const path = freshFolder();
    const text = readFileSync('SECURITY.md', 'utf8').match(/```sh\n(deno run [\s\S]*?)```/)?.[1] ??
      '';
    const flags = text.replace('--allow-write=data', `--allow-write=${path}`)
      .replace('"$(realpath node_modules)"', realpathSync('node_modules'))
      .split(/[\s\\]+/).filter((word) => word.startsWith('--'));
    expect(flags.length).toBeGreaterThan(5);
    const program = sources('src/main.ts', flags);
    const server = await startServer({ folder: path, program });
    expect((await server.call('GET', '/readyz')).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });

  test('to write, to run and to load native code are given back once it runs', () => {
    const probe = join(freshFolder(), 'probe');
    const { stdout } = spawnSync('node_modules/.bin/deno', [
      'run',
      '-A',
      '--no-prompt',
      'test/e2e/permissions_probe.ts',
      probe,
    ], { encoding: 'utf8' });
    expect(stdout.trim().split('\n')).toEqual([
      'write: NotCapable',
      'run: NotCapable',
      'read: done',
    ]);
    expect(existsSync(probe)).toBe(false);
  });
});
