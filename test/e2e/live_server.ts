/**
 * A server of this program in a folder of its own, and its other commands run against it. All that
 * was started is ended after each test file.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll } from 'vitest';
import { canary, watch } from './canary.ts';

const DENO = resolve('node_modules/.bin/deno');
const MAIN = resolve('src/main.ts');
/** The same with a wall clock that jumps. */
const JUMPY_MAIN = resolve('test/e2e/jumpy_main.ts');
export const ADMIN_TOKEN = canary('admin-token');

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly tookMs: number;
}

export interface Running {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
}

const folders: string[] = [];
const started: ChildProcess[] = [];
afterAll(async () => {
  const left = started.filter(({ exitCode, signalCode }) =>
    exitCode === null && signalCode === null
  );
  await Promise.all(left.map((child) => {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    return closed;
  }));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Starts a command of the program. */
export function start(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  where: { readonly cwd?: string; readonly isJumpy?: boolean } = {},
): Running {
  const { cwd, isJumpy = false } = where;
  const sinceMs = performance.now();
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(DENO, ['run', '-A', '--quiet', isJumpy ? JUMPY_MAIN : MAIN, ...words], {
    env: { PATH, HOME, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  watch(child, words);
  started.push(child);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => out += chunk);
  child.stderr.on('data', (chunk) => err += chunk);
  const finished = new Promise<Finished>((done) => {
    child.once('exit', (code) => {
      const tookMs = performance.now() - sinceMs;
      // What it started may hold the pipes open.
      setTimeout(() => done({ code, out, err, tookMs }), 100);
    });
  });
  return { process: child, finished };
}

export class LiveServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'nthbouncer-e2e-'));
  readonly #isJumpy: boolean;
  /** Any free one at the first start, and the same at each that follows. */
  #port = '0';
  #running: Running | null = null;

  constructor(isJumpy = false) {
    this.#isJumpy = isJumpy;
    folders.push(this.folder);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get db(): string {
    return `file:${join(this.folder, 'nthbouncer.db')}`;
  }

  get env(): Record<string, string> {
    return { NTHBOUNCER_URL: this.url, NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
  }

  async start(): Promise<void> {
    const env = { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
    const words = ['serve', '--port', this.#port, '--db', this.db];
    const running = start(words, env, { cwd: this.folder, isJumpy: this.#isJumpy });
    this.#running = running;
    const isDown = await Promise.race([
      running.finished.then(({ err }) => err),
      this.#listens(running).then(() => null),
    ]);
    if (isDown !== null) throw new Error(`the server did not start: ${isDown}`);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#running?.process.kill(signal);
    await this.#running?.finished;
  }

  /** Makes a pool, and a key for it. */
  async pool(name: string, settings: Record<string, unknown> = {}): Promise<string> {
    await this.admin('POST', '/pools', { name, ...settings });
    const made = await this.admin('POST', `/pools/${name}/keys`, { name: 'test' });
    return String(made['key']);
  }

  async admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.url}/admin/api${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  /** The instants, epoch ms, at which all leases of a pool end if nobody renews. */
  async deadlines(pool: string): Promise<number[]> {
    const { slots } = await this.admin('GET', `/pools/${pool}/slots`);
    return (slots as { leaseDeadline: number }[]).map((slot) => slot.leaseDeadline);
  }

  /** Reads the port off the line that says so. */
  async #listens({ process: { stdout } }: Running): Promise<void> {
    let text = '';
    for await (const [chunk] of on(stdout as Readable, 'data')) {
      text += chunk;
      const port = text.match(/listening on \S+:(\d+)/)?.[1];
      if (port === undefined) continue;
      this.#port = port;
      return;
    }
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
