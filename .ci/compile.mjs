// Makes dist/nthbouncer: one binary with the program, its packages, its migrations and the runtime.
// It is compiled from a copy of the tree that has the production packages alone, since everything
// beside the program would be embedded too. DENO_BIN names the Deno to compile with (else the one
// of the development packages), DENORT_BIN, which Deno itself reads, the base runtime.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const output = join(root, 'dist', process.platform === 'win32' ? 'nthbouncer.exe' : 'nthbouncer');
const deno = process.env.DENO_BIN || join(root, 'node_modules', '.bin', 'deno');
const tree = mkdtempSync(join(tmpdir(), 'nthbouncer-compile-'));

// What src/http/assets.ts serves of packages. RapiDoc stays a development package: the one file is
// all that is served of it, and its 127 packages (160 MB) have no place beside the program.
const ASSETS = [
  'node_modules/htmx.org/dist/htmx.min.js',
  'node_modules/uplot/dist/uPlot.iife.min.js',
  'node_modules/uplot/dist/uPlot.min.css',
  'node_modules/@picocss/pico/css/pico.min.css',
  'node_modules/rapidoc/dist/rapidoc-min.js',
];

/** Every script that is embedded is parsed too, and a minified one nests deeper than 2 MB of stack. */
const ENVIRONMENT = { ...process.env, RUST_MIN_STACK: String(256 * 1024 * 1024) };

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: tree,
    env: ENVIRONMENT,
    stdio: 'inherit',
  });
  if (error || status !== 0) {
    console.error(`compile: ${command} ${args[0]}: ${error?.message ?? `exit ${status}`}`);
    console.error(
      'compile: both npm and Deno may fetch; DENORT_BIN names a base runtime that is here already ' +
        '(docs/development.md)',
    );
    rmSync(tree, { recursive: true, force: true });
    process.exit(1);
  }
}

try {
  for (const name of ['package.json', 'package-lock.json', 'deno.json', '.npmrc', 'src', 'db']) {
    cpSync(join(root, name), join(tree, name), { recursive: true });
  }
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']);
  // Only one of the two C libraries' addons can ever be loaded; the other one would be 25 MB more.
  const addons = join(tree, 'node_modules', '@libsql');
  if (existsSync(join(addons, `linux-${process.arch}-gnu`))) {
    rmSync(join(addons, `linux-${process.arch}-musl`), { recursive: true, force: true });
  }
  // Of the page's packages the few files that are served; the rest would be 30 MB.
  const cleared = new Set();
  for (const path of ASSETS) {
    const name = path.split('/').slice(0, path.includes('/@') ? 3 : 2).join('/');
    if (!cleared.has(name)) rmSync(join(tree, name), { recursive: true, force: true });
    cleared.add(name);
    cpSync(join(root, path), join(tree, path));
    cpSync(join(root, name, 'package.json'), join(tree, name, 'package.json'));
  }
  mkdirSync(join(root, 'dist'), { recursive: true });
  run(deno, [
    'compile',
    '--quiet',
    '--no-check',
    '--no-prompt',
    // Why: docs/development.md, what speed costs.
    '--v8-flags=--no-allocation-site-pretenuring,--initial-old-space-size=128',
    '--allow-net',
    '--allow-read',
    '--allow-write',
    '--allow-env',
    '--allow-ffi',
    '--allow-sys',
    '--allow-run',
    '--include=db/migrations',
    '--include=src/admin/assets',
    ...ASSETS.map((path) => `--include=${path}`),
    `--output=${output}`,
    'src/main.ts',
  ]);
  console.log(`${output}: ${(statSync(output).size / 1e6).toFixed(0)} MB`);
} finally {
  rmSync(tree, { recursive: true, force: true });
}
