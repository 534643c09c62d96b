/** Secrets that a configuration file names, and what the process may do once it runs. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { signedHeaders } from '../../src/access/signed_text.ts';
import { folder } from '../store/samples.ts';
import { canary } from './canary.ts';
import { Running } from './process.ts';

const ADMIN = canary('admin-token');
const SECRET = canary('hmac-secret');
const TARGET = '/pools/filed/lock/acquire';

function fileOf(path: string, secret: unknown): string {
  const file = join(path, 'pools.json');
  const access = { key: { required: false }, hmac: { secrets: [secret] } };
  writeFileSync(file, JSON.stringify({ pools: [{ name: 'filed', access }] }));
  return file;
}

function serve(path: string, env: Record<string, string> = {}): Running {
  const args = ['--port', '0', '--db', `file:${path}/n.db`, '--config', join(path, 'pools.json')];
  return new Running(['serve', ...args], { NTHBOUNCER_ADMIN_TOKEN: ADMIN, ...env });
}

async function signedStatus(origin: string): Promise<number> {
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
    const path = folder();
    fileOf(path, { env: 'POOL_SECRET' });
    const first = serve(path, { POOL_SECRET: SECRET });
    expect(await signedStatus(await first.listening())).toBe(200);
    await first.stop();
    writeFileSync(join(path, 'secret'), `${SECRET}\n`);
    fileOf(path, { file: join(path, 'secret') });
    const second = serve(path);
    expect(await signedStatus(await second.listening())).toBe(200);
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
    const path = folder();
    fileOf(path, secret);
    const { code, out } = await serve(path).ended;
    expect(code).toBe(2);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(out).toContain('access.hmac.secrets.0');
    expect(out).not.toContain(SECRET);
    expect(readdirSync(path)).toEqual(['pools.json']);
  });
});

describe('permissions', () => {
  test('that SECURITY.md names are enough', async () => {
    const path = folder();
    const text = readFileSync('SECURITY.md', 'utf8').match(/```sh\n(deno run [\s\S]*?)```/)?.[1] ??
      '';
    const flags = text.replace('--allow-write=data', `--allow-write=${path}`)
      .replace('"$(realpath node_modules)"', realpathSync('node_modules'))
      .split(/[\s\\]+/).filter((word) => word.startsWith('--'));
    expect(flags.length).toBeGreaterThan(5);
    const server = new Running(
      ['serve', '--port', '0', '--db', `file:${path}/n.db`],
      { NTHBOUNCER_ADMIN_TOKEN: ADMIN },
      flags,
    );
    const origin = await server.listening();
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });

  test('to write, to run and to load native code are given back once it runs', () => {
    const probe = join(folder(), 'probe');
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
