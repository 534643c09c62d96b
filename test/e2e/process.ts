/**
 * The program in a process of its own, for what only a whole process can show: the one place that
 * starts it. What it prints, and the database that it leaves behind, is searched for secrets. All
 * that was started is ended by its id, after the test file at the latest.
 */
import type { ChildProcess, ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll } from 'vitest';
import { watch } from './canary.ts';

const DENO = process.env['DENO_BIN'] ?? resolve('node_modules/.bin/deno');
const LISTENING = /listening on (\S+)\n/;
const START_MS_MAX = 30_000;
/** What a process has started may hold its pipes open when it is gone. */
const REST_MS = 100;

/** What runs the program from its sources; other permissions than all, where they are named. */
export function sources(main = 'src/main.ts', permissions: readonly string[] = ['-A']): string[] {
  const flags = [
    '--quiet',
    '--v8-flags=--no-allocation-site-pretenuring,--initial-old-space-size=128',
  ];
  return [DENO, 'run', ...flags, ...permissions, resolve(main)];
}

export interface How {
  readonly cwd?: string;
  readonly program?: readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Finished extends Exit {
  readonly out: string;
  readonly err: string;
  /** Both. */
  readonly output: string;
  readonly tookMs: number;
}

/** Starts a command of the program; of whoever runs the tests it has the path and the home. */
export function start(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { cwd = '.', program = sources() }: How = {},
): Running {
  const { PATH = '', HOME = '' } = process.env;
  const [command = '', ...first] = program;
  const child = spawn(command, [...first, ...words], {
    env: { PATH, HOME, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
  });
  watch(child, words);
  const running = new Running(child);
  started.push(running);
  return running;
}

export class Running {
  readonly process: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly finished: Promise<Finished>;
  /** Once nobody can print any more. */
  readonly closed: Promise<unknown>;
  out = '';
  err = '';
  output = '';

  constructor(child: ChildProcessByStdio<null, Readable, Readable>) {
    const sinceMs = performance.now();
    this.process = child;
    child.stdout.on('data', (chunk) => this.#read('out', String(chunk)));
    child.stderr.on('data', (chunk) => this.#read('err', String(chunk)));
    this.closed = new Promise((done) => child.once('close', done));
    this.exited = new Promise((done) =>
      child.once('exit', (code, signal) => done({ code, signal }))
    );
    this.finished = this.exited.then(async (exit) => {
      const tookMs = performance.now() - sinceMs;
      await Promise.race([this.closed, sleep(REST_MS)]);
      const { out, err, output } = this;
      return { ...exit, out, err, output, tookMs };
    });
  }

  /** The origin once it listens; null where it ends before. */
  listensOrEnds(): Promise<string | null> {
    return new Promise((told, fail) => {
      const late = setTimeout(() => fail(new Error(this.#silence)), START_MS_MAX);
      const tell = (origin: string | null) => {
        clearTimeout(late);
        told(origin);
      };
      const look = () => {
        const origin = LISTENING.exec(this.output)?.[1];
        if (origin !== undefined) tell(origin);
      };
      look();
      this.process.stdout?.on('data', look);
      void this.exited.then(() => tell(null));
    });
  }

  /** The origin, once it listens. */
  async listening(): Promise<string> {
    const origin = await this.listensOrEnds();
    if (origin === null) throw new Error(this.#silence);
    return origin;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Finished> {
    this.process.kill(signal);
    return await this.finished;
  }

  get #silence(): string {
    return `it does not listen: ${this.output}`;
  }

  #read(channel: 'out' | 'err', text: string): void {
    this[channel] += text;
    this.output += text;
  }
}

const started: Running[] = [];
const folders: string[] = [];

/** A folder that goes when all that was started has ended. */
export function freshFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'nthbouncer-e2e-'));
  folders.push(path);
  return path;
}

/** Ends all that was started, and removes the folders. */
export async function endAll(): Promise<void> {
  const all = started.splice(0);
  for (const { process } of all) {
    if (process.exitCode === null && process.signalCode === null) process.kill('SIGKILL');
  }
  await Promise.all(all.map(({ closed }) => closed));
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
}
afterAll(endAll);

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
