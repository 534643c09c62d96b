/**
 * What the files of deploy/ name is there: paths, commands, variables, exit codes and times. Where
 * systemd is installed, it checks the unit itself.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../src/config.ts';

const unit = readFileSync('deploy/nthbouncer.service', 'utf8');
const dockerfile = readFileSync('deploy/Dockerfile', 'utf8');
const compose = readFileSync('deploy/compose.yaml', 'utf8');
const VARIABLES = new Set<string>([
  ...Object.values(SETTINGS).map(({ environment }) => environment),
  ...['ADMIN_TOKEN', 'METRICS_TOKEN', 'MASTER_KEY', 'URL', 'KEY'].map((name) =>
    `NTHBOUNCER_${name}`
  ),
]);

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

const first = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? '';

it.each([['nthbouncer.service', unit], ['Dockerfile', dockerfile], ['compose.yaml', compose]])(
  '%s names no variable that is not there',
  (_, text) => {
    const named = text.match(/\bNTHBOUNCER_[A-Z_]+/g) ?? [];
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !VARIABLES.has(name))).toEqual([]);
  },
);

describe('the systemd unit', () => {
  it('starts a command that there is, and waits longer than a drain', () => {
    expect(first(unit, /^ExecStart=\S+ (\S+)$/m)).toBe('serve');
    const drainMs = Number(first(unit, /^Environment=NTHBOUNCER_DRAIN_MS=(\d+)$/m));
    expect(SETTINGS.drainMs.schema.parse(String(drainMs))).toBe(drainMs);
    expect(Number(first(unit, /^TimeoutStopSec=(\d+)$/m)) * 1000).toBeGreaterThan(drainMs + 5_000);
  });

  it('keeps its state where the database is', () => {
    const folder = `/var/lib/${first(unit, /^StateDirectory=(\S+)$/m)}`;
    expect(first(unit, /^Environment=NTHBOUNCER_DB=file:(.*)\/[^/]+$/m)).toBe(folder);
  });

  it('is not started anew where the console says that it cannot help', () => {
    const codes = readFileSync('docs/console.md', 'utf8').split('<!-- exit codes -->')[1] ?? '';
    for (const code of first(unit, /^RestartPreventExitStatus=(.*)$/m).split(' ')) {
      expect(codes).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'));
    }
  });

  it('is started anew for as long as a trouble lasts that may pass', () => {
    expect(first(unit, /^RestartPreventExitStatus=(.*)$/m).split(' ')).not.toContain('1');
    expect(unit).toMatch(/^Restart=always$/m);
    expect(first(unit, /\[Unit\]([^[]*)/)).toMatch(/^StartLimitIntervalSec=0$/m);
  });

  it('may ask for memory keys, as the engine does, and is not killed for asking', () => {
    expect(unit).toMatch(/^SystemCallFilter=@pkey$/m);
    expect(unit).toMatch(/^SystemCallErrorNumber=EPERM$/m);
  });

  it.skipIf(!hasSystemd)('is right in the eyes of systemd', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nthbouncer-unit-'));
    const path = join(folder, 'nthbouncer.service');
    // The binary is not installed here.
    writeFileSync(path, unit.replaceAll('/usr/local/bin/nthbouncer', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

describe('the flags of the runtime', () => {
  const FLAG = '--v8-flags=--no-allocation-site-pretenuring,--initial-old-space-size=128';

  it.each(['package.json', 'SECURITY.md', 'test/e2e/process.ts', 'test/bench/locks/servers.ts'])(
    'are in %s those of the binary',
    (path) => {
      expect(readFileSync('.ci/compile.mjs', 'utf8')).toContain(`'${FLAG}'`);
      const text = readFileSync(path, 'utf8');
      const starts = text.match(/deno run(?=[^\n]*(\\\n[^\n]*)*src\/main\.ts)/g)?.length ?? 1;
      expect(text.split(FLAG)).toHaveLength(starts + 1);
    },
  );
});

it("npm's scripts hand signals on to the server", () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const name of ['start', 'nthbouncer']) expect(scripts[name]).toMatch(/^exec deno run /);
});

describe('the image', () => {
  it('copies what is there, and what the build makes', () => {
    const copied = [...dockerfile.matchAll(/^COPY ((?!--from).*) \S+$/gm)]
      .flatMap(([, paths = '']) => paths.split(' '));
    expect(copied).toContain('package-lock.json');
    expect(copied.filter((path) => !existsSync(path))).toEqual([]);
    expect(dockerfile).toContain('npm run compile');
    expect(readFileSync('package.json', 'utf8')).toContain('"compile": "node .ci/compile.mjs"');
    expect(readFileSync('.ci/compile.mjs', 'utf8')).toContain("join(root, 'dist'");
    expect(dockerfile).toContain('/build/dist/nthbouncer /nthbouncer');
  });

  it('serves, on the port that is exposed, with its state in the volume', () => {
    expect(first(dockerfile, /^CMD \["(\w+)"\]$/m)).toBe('serve');
    expect(first(dockerfile, /^EXPOSE (\d+)$/m)).toBe(SETTINGS.port.fallback);
    const volume = first(dockerfile, /^VOLUME (\S+)$/m);
    expect(first(dockerfile, /NTHBOUNCER_DB=file:(\S+)\/[^/]+$/m)).toBe(volume);
    expect(compose).toContain(`state:${volume}\n`);
  });
});

describe('the sidecar', () => {
  it('reads the file of pools that is mounted', () => {
    const [, from = '', to] = /- (\.\/\S+):(\/etc\/\S+):ro$/m.exec(compose) ?? [];
    expect(existsSync(join('deploy', from))).toBe(true);
    expect(first(compose, /NTHBOUNCER_CONFIG: (\S+)$/m)).toBe(to);
    const named = JSON.parse(readFileSync(join('deploy', from), 'utf8')).pools
      .flatMap(({ keys }: { keys: { env: string }[] }) => keys.map(({ env }) => env));
    for (const variable of named) expect(compose).toContain(`${variable}: \${${variable}}`);
  });

  it('has a place from which the binary may load its library, though all else is read-only', () => {
    expect(compose).toMatch(/read_only: true/);
    expect(compose).toMatch(/tmpfs: \['\/tmp:exec/);
  });

  it('has longer to stop than a drain takes', () => {
    const seconds = Number(first(compose, /stop_grace_period: (\d+)s/));
    expect(seconds * 1000).toBeGreaterThan(Number(SETTINGS.drainMs.fallback) + 5_000);
  });
});
