/**
 * The real server under Deno for the tests of the proxy: started on a free port, which it keeps,
 * with a fresh database, and driven by its admin API.
 */
import { request } from 'node:http';
import { searchAnswer } from '../canary.ts';
import { freshFolder, type Running, sleep, sources, start } from '../process.ts';
import { ADMIN_TOKEN } from '../server.ts';

/** NTHBOUNCER_BIN names a compiled binary to test in place of the sources. */
const BINARY = process.env['NTHBOUNCER_BIN'];
const program = BINARY === undefined ? sources() : [BINARY];

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

export class ProxyServer {
  readonly folder = freshFolder();
  #running: Running | null = null;
  port = 0;

  async start(more: readonly string[] = [], env: Record<string, string> = {}): Promise<this> {
    const words = ['serve', '--port', String(this.port), '--db', `file:${this.folder}/a.db`];
    const token = { NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN };
    this.#running = start([...words, ...more], { ...token, ...env }, { program });
    this.port = Number(new URL(await this.#running.listening()).port);
    return this;
  }

  get output(): string {
    return this.#running?.output ?? '';
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    return (await this.#running?.stop(signal))?.code ?? null;
  }

  /** An admin call; the answer's JSON. */
  async admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const { status, body: text } = await this.call({
      method,
      path: `/admin/api${path}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  /** Makes a keyless pool that forwards to a port. */
  async pool(name: string, port: number, more: PoolOptions = {}): Promise<void> {
    const { limit = 2, upstream = {}, ...rest } = more;
    await this.admin('POST', '/pools', {
      name,
      concurrency: { limit },
      access: { key: { required: false } },
      upstream: { url: `http://127.0.0.1:${port}`, ...upstream },
      ...rest,
    });
  }

  /** A request by a plain client; on the pool's host where one is named. */
  call(options: CallOptions): Promise<Answer> {
    const { method = 'GET', path = '/', headers = {}, body, pool } = options;
    return new Promise((resolve, reject) => {
      const sent = request({
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        agent: false,
        headers: {
          host: `${pool === undefined ? '' : `${pool}.`}localhost:${this.port}`,
          ...headers,
        },
      }, (answer) => {
        let text = '';
        answer.setEncoding('latin1');
        answer.on('data', (piece) => text += piece);
        answer.on('error', reject);
        answer.on('end', () => {
          const isOwn = pool === undefined || answer.headers['x-nthpool-error'] !== undefined;
          if (isOwn) searchAnswer(method, path, text);
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** The capacity probe: how many fail-fast acquires the pool grants, one after another. */
  async capacity(pool: string): Promise<number> {
    const base = `/pools/${pool}/lock`;
    const slots: string[] = [];
    for (;;) {
      const answer = await this.call({
        method: 'POST',
        path: `${base}/acquire`,
        headers: { 'x-nthpool-no-queue': '1' },
      });
      if (answer.status !== 200) break;
      slots.push(JSON.parse(answer.body).slotId);
    }
    for (const slot of slots) await this.call({ method: 'POST', path: `${base}/${slot}/release` });
    return slots.length;
  }

  /** The capacity once it is what is wanted, or what it is when `withinMs` are over. */
  async capacityWithin(pool: string, wanted: number, withinMs = 1000): Promise<number> {
    const until = performance.now() + withinMs;
    for (;;) {
      const found = await this.capacity(pool);
      if (found === wanted || performance.now() > until) return found;
      await sleep(25);
    }
  }
}

export interface PoolOptions {
  readonly limit?: number;
  readonly upstream?: Record<string, unknown>;
  readonly [field: string]: unknown;
}

export interface CallOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly pool?: string;
}
