/**
 * A whole server in a process of its own, on a fresh folder, for tests that stop and kill it.
 */
import { join } from 'node:path';
import { canary } from './canary.ts';
import { type Exit, freshFolder, type How, type Running, sleep, start } from './process.ts';

export const ADMIN_TOKEN = canary('admin-token');

export interface ServerOptions extends How {
  readonly folder?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Any free port at the first start, and the same at each that follows. */
  readonly keepsPort?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

export class Server {
  readonly folder: string;
  /** Empty while it starts, and where it ended before it listened. */
  origin = '';
  #running: Running | null = null;
  #port = '0';
  readonly #options: ServerOptions;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
    this.folder = options.folder ?? freshFolder();
  }

  get database(): string {
    return join(this.folder, 'state.db');
  }

  get db(): string {
    return `file:${this.database}`;
  }

  /** What the console wants to know of this server. */
  get env(): Record<string, string> {
    return { NTHBOUNCER_URL: this.origin, NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
  }

  /** What the last process printed. */
  get output(): string {
    return this.#running?.output ?? '';
  }

  /** Of the last process. */
  get pid(): number {
    return this.#running?.process.pid ?? 0;
  }

  get lines(): string[] {
    return this.output.split('\n').filter((line) => line !== '');
  }

  /** How the last process ended, once all that it printed is here. */
  get exited(): Promise<Exit> {
    const none = Promise.resolve({ code: null, signal: null });
    return (this.#running?.finished ?? none).then(({ code, signal }) => ({ code, signal }));
  }

  /** Starts, and resolves once it listens or has exited. */
  async start(): Promise<this> {
    const { flags = [], env = {}, keepsPort = false, ...how } = this.#options;
    const usual = [['--port', this.#port], ['--db', this.db]] as const;
    const unsaid = usual.filter(([flag]) => !flags.includes(flag)).flat();
    const words = ['serve', ...unsaid, ...flags];
    const token = { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
    this.origin = '';
    this.#running = start(words, { ...token, ...env }, how);
    this.origin = await this.#running.listensOrEnds() ?? '';
    if (keepsPort && this.origin !== '') this.#port = new URL(this.origin).port;
    return this;
  }

  signal(name: NodeJS.Signals): void {
    this.#running?.process.kill(name);
  }

  async stop(name: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.signal(name);
    return await this.exited;
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

  /** The instants, epoch ms, at which all leases end if nobody renews. */
  async deadlines(): Promise<number[]> {
    const { json } = await this.server.admin('GET', `/pools/${this.name}/slots`);
    return json.slots.map((slot: { leaseDeadline: number }) => slot.leaseDeadline);
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

export function startServer(options: ServerOptions = {}): Promise<Server> {
  return new Server(options).start();
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
