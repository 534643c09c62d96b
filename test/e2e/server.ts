/**
 * A whole server in a process of its own, on a fresh folder, for tests that stop and kill it.
 * Every process that a test starts here is ended by `Servers.end`, by its id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canary, watch } from './canary.ts';

export const ADMIN_TOKEN = canary('admin-token');
const COMMAND = ['node_modules/.bin/deno', 'run', '-A', 'src/main.ts', 'serve'];
const START_MS_MAX = 30_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ServerOptions {
  readonly folder?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

export class Server {
  readonly folder: string;
  output = '';
  exited: Promise<Exit> = Promise.resolve({ code: null, signal: null });
  origin = '';
  #child: ChildProcess | null = null;
  readonly #options: ServerOptions;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'nthbouncer-e2e-'));
  }

  get database(): string {
    return join(this.folder, 'state.db');
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Starts, and resolves once it listens or has exited. */
  async start(): Promise<this> {
    const [program = '', ...fixed] = COMMAND;
    const { flags = [], env = {} } = this.#options;
    const words = [...fixed, '--port', '0', '--db', `file:${this.database}`, ...flags];
    const child = spawn(program, words, {
      env: { ...process.env, NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    watch(child, words);
    this.#child = child;
    this.output = '';
    this.origin = '';
    this.exited = new Promise((done) =>
      child.once('exit', (code, signal) => done({ code, signal }))
    );
    const listening = new Promise<void>((done) => {
      const read = (chunk: unknown) => {
        this.output += String(chunk);
        this.origin = this.output.match(/listening on (\S+)/)?.[1] ?? '';
        if (this.origin !== '') done();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
    });
    const late = sleep(START_MS_MAX).then(() => {
      throw new Error(`the server did not listen: ${this.output}`);
    });
    late.catch(() => {});
    await Promise.race([listening, this.exited, late]);
    return this;
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async stop(name: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.signal(name);
    return await this.exited;
  }

  async end(): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) {
      this.signal('SIGKILL');
      await this.exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  async call(method: string, path: string, options: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(this.origin + path, { method, ...options });
    const text = await answer.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: answer.status, headers: answer.headers, text, json };
  }

  admin(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.call(method, `/admin/api${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Makes a pool with one key. */
  async pool(name: string, settings: object = {}): Promise<PoolCalls> {
    const made = await this.admin('POST', '/pools', { name, ...settings });
    if (made.status !== 201) throw new Error(`pool ${name}: ${made.text}`);
    const { json } = await this.admin('POST', `/pools/${name}/keys`, { name: 'test' });
    return new PoolCalls(this, name, json.key);
  }
}

/** The lock calls of one pool with one key. */
export class PoolCalls {
  readonly server: Server;
  readonly name: string;
  readonly key: string;

  constructor(server: Server, name: string, key: string) {
    this.server = server;
    this.name = name;
    this.key = key;
  }

  acquire(body?: object, options: RequestInit = {}): Promise<Answer> {
    return this.#post('acquire', body, options);
  }

  renew(slotId: string): Promise<Answer> {
    return this.#post(`${slotId}/renew`);
  }

  release(slotId: string, body?: object): Promise<Answer> {
    return this.#post(`${slotId}/release`, body);
  }

  async hold(body?: object): Promise<{ slotId: string; fence: number; leaseDeadline: number }> {
    const { status, text, json } = await this.acquire(body);
    if (status !== 200) throw new Error(`acquire: ${status} ${text}`);
    return json;
  }

  // deno-lint-ignore no-explicit-any
  async status(): Promise<any> {
    return (await this.server.admin('GET', `/pools/${this.name}/status`)).json;
  }

  /** How many slots can be had now, one after another; they are given back. */
  async capacity(): Promise<number> {
    const held: string[] = [];
    for (;;) {
      const { status, json } = await this.acquire();
      if (status !== 200) break;
      held.push(json.slotId);
    }
    for (const slotId of held) await this.release(slotId);
    return held.length;
  }

  #post(path: string, body?: object, options: RequestInit = {}): Promise<Answer> {
    return this.server.call('POST', `/pools/${this.name}/lock/${path}`, {
      ...options,
      headers: { 'x-nthpool-key': this.key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

/** The servers of one test file. */
export class Servers {
  readonly #all: Server[] = [];

  make(options: ServerOptions = {}): Server {
    const server = new Server(options);
    this.#all.push(server);
    return server;
  }

  start(options: ServerOptions = {}): Promise<Server> {
    return this.make(options).start();
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.splice(0).map((server) => server.end()));
  }
}

/** Asks again until it holds; fails with what it saw last. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  withinMs = 5000,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!await holds()) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await sleep(20);
  }
}
