/**
 * What the documents say is what the program does: settings, errors and defaults are compared.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LogAnswer } from '../src/answers.ts';
import { CEILINGS } from '../src/ceilings.ts';
import { configSchema } from '../src/cli/pool_file.ts';
import { SETTINGS } from '../src/config.ts';
import { ERRORS } from '../src/errors.ts';
import { SOURCES } from '../src/http/metric_sources.ts';
import { DIALS } from '../src/upstream/forward/forward_error.ts';
import { PoolSpec } from '../src/wire.ts';

const readme = readFileSync('README.md', 'utf8');
const errors = readFileSync('docs/errors.md', 'utf8');

describe('README', () => {
  it('lists every setting of serve with its variable and default', () => {
    const table = readme.match(/<!-- settings -->\s+(\|[\s\S]*?)\n\n/)?.[1] ?? '';
    const rows = table.trim().split('\n').slice(2).map((row) =>
      row.split('|').map((cell) => cell.trim().replaceAll('`', '').replace(/ \(.*/, ''))
    );
    const wanted = Object.values(SETTINGS).map(({ flag, environment, fallback }) => [
      flag.split(' ')[0],
      environment,
      fallback ?? 'none',
    ]);
    expect(rows.map((row) => row.slice(1, 4))).toEqual(wanted);
  });

  it('shows a pool whose every field is its default', () => {
    const json = readme.split('<!-- pool -->')[1]?.match(/```json\n([\s\S]*?)```/)?.[1] ?? '';
    expect(PoolSpec.parse({ name: 'prod-acme' })).toEqual(JSON.parse(json));
  });
});

describe('every document', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const docs = readdirSync('docs').map((name) => `docs/${name}`);

  it.each(['README.md', 'SECURITY.md', ...docs])('%s names scripts and files that are', (path) => {
    const text = readFileSync(path, 'utf8');
    for (const [, name = ''] of text.matchAll(/\bnpm run (?:-s )?([a-z][a-z0-9:]*)/g)) {
      expect(Object.keys(scripts)).toContain(name);
    }
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(existsSync(join(dirname(path), link)), link).toBe(true);
    }
  });

  it.each(['README.md', ...docs])('%s defines what its shell blocks use', (path) => {
    const text = readFileSync(path, 'utf8');
    const shell = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]).join('\n');
    for (const name of ['ADMIN', 'API', 'KEY', 'LOCK', 'SLOT', 'URL', 'BODY']) {
      const used = shell.search(new RegExp(`\\$${name}\\b`));
      const defined = shell.search(new RegExp(`^${name}=`, 'm'));
      const isOfReadme = path !== 'README.md' && text.includes(`\`$${name}\``);
      if (used >= 0 && !isOfReadme) expect(defined, name).not.toBe(-1);
      if (used >= 0 && !isOfReadme) expect(defined, name).toBeLessThan(used);
    }
  });
});

describe('the access log in docs/operations.md', () => {
  const operations = readFileSync('docs/operations.md', 'utf8');
  const text = operations.split('## The access log')[1]?.split('\n## ')[0] ?? '';

  it('has every field of a row', () => {
    for (const field of Object.keys(LogAnswer.shape.entries.element.shape)) {
      expect(text).toContain(`\`${field}\``);
    }
  });

  it('has every reason of a dial that failed', () => {
    for (const reason of Object.keys(DIALS)) expect(text).toContain(`\`${reason}\``);
  });
});

describe('the ceilings in docs/operations.md', () => {
  const operations = readFileSync('docs/operations.md', 'utf8');
  const cells = (operations.split('## Ceilings')[1]?.split('\n## ')[0] ?? '').split(/[|;]/)
    .map((cell) => cell.trim());

  /** As the table shows a ceiling: by what its name ends in. */
  function shown(name: string, value: number): string {
    if (name.endsWith('Bytes')) {
      return value >= 2 ** 20 ? `${value / 2 ** 20} MiB` : `${value / 1024} KiB`;
    }
    if (!name.endsWith('Ms')) return String(value).replace(/(?=(\d{3})+$)\B/g, ' ');
    if (value >= 86_400_000) return `${value / 86_400_000} days`;
    return value >= 60_000 ? `${value / 60_000} min` : `${value / 1000} s`;
  }

  it.each(Object.entries(CEILINGS))('tell %s', (name, value) => {
    expect(cells).toContain(shown(name, value));
  });
});

describe('docs/errors.md', () => {
  it('lists every error code with its status, and no other', () => {
    const rows = [...errors.matchAll(/^\| `(\w+)`\s+\| (\d+)\s+\|/gm)];
    const listed = Object.fromEntries(rows.map((row) => [row[1], Number(row[2])]));
    const wanted = Object.entries(ERRORS).map(([code, { status }]) => [code, status]);
    expect(listed).toEqual(Object.fromEntries(wanted));
  });
});

describe('deploy/config.schema.json', () => {
  it('is what the configuration file is checked by', () => {
    const written = readFileSync('deploy/config.schema.json', 'utf8');
    expect(JSON.parse(written), 'npm run schema writes it anew').toEqual(
      JSON.parse(JSON.stringify(configSchema())),
    );
    const { pools: [{ keys, ...spec }] } = JSON.parse(readFileSync('deploy/pools.json', 'utf8'));
    expect(keys).toHaveLength(1);
    expect(PoolSpec.safeParse(spec).success).toBe(true);
  });
});

describe('docs/metrics.md', () => {
  it('lists every metric with its type, labels and help, and no other', () => {
    const text = readFileSync('docs/metrics.md', 'utf8');
    const rows = [...text.matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.*?) +\|$/gm)];
    expect(rows.map((row) => row.slice(1, 5))).toEqual(
      SOURCES.map(({ name, type, labels = [], help }) => [
        name,
        type,
        labels.map((label) => `\`${label}\``).join(', ') || '–',
        help,
      ]),
    );
  });

  it('goes with a dashboard and alerts that use no other metric', () => {
    const names = new Set(SOURCES.map(({ name }) => name));
    for (const file of ['deploy/grafana-dashboard.json', 'deploy/prometheus-alerts.yml']) {
      const used = readFileSync(file, 'utf8').match(/\b(nthbouncer|process)_[a-z_]+/g) ?? [];
      const base = used.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
      expect(base.filter((name) => !names.has(name)), file).toEqual([]);
      expect(base.length, file).toBeGreaterThan(5);
    }
  });
});

describe('docs/proxy.md', () => {
  const hasNginx = spawnSync('nginx', ['-v']).status === 0;

  it.runIf(hasNginx)('shows an nginx configuration that nginx takes', () => {
    const [, shown = ''] = readFileSync('docs/proxy.md', 'utf8')
      .match(/```nginx\n([\s\S]*?)```/) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'nthbouncer-nginx-'));
    try {
      // Neither a port nor a certificate is at hand here.
      const http = shown.replace('listen 443 ssl;', `listen unix:${folder}/socket;`);
      const path = join(folder, 'nginx.conf');
      const own = `pid ${folder}/pid;\nerror_log ${folder}/log;\nevents {}\n`;
      writeFileSync(path, `${own}http {\naccess_log off;\n${http}}\n`);
      const { status, stderr } = spawnSync('nginx', ['-t', '-c', path], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({
        status: 0,
        stderr: expect.stringContaining('is successful'),
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('docs/access.md', () => {
  const access = readFileSync('docs/access.md', 'utf8');

  it('shows settings that are taken as they stand', () => {
    const blocks = [...access.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
    expect(blocks.length).toBeGreaterThan(3);
    for (const block of blocks) {
      expect(() => PoolSpec.parse({ name: 'p', ...JSON.parse(block) }), block).not.toThrow();
    }
  });
});
