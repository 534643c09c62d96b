/**
 * A whole server in the process of the test, on a store in memory, with a clock that stands still
 * until it is moved.
 */
import { Forwarding } from '../../src/http/forwarding.ts';
import { DialError } from '../../src/upstream/forward/line.ts';
import { openAccess } from '../../src/access/access.ts';
import { hashOf } from '../../src/access/keys.ts';
import { Vault } from '../../src/access/vault.ts';
import type { Fetch } from '../../src/http/app.ts';
import { makeApp } from '../../src/http/app.ts';
import { Desk } from '../../src/http/desk.ts';
import type { Server } from '../../src/http/server.ts';
import type { Clock, Timer } from '../../src/scheduler/clock.ts';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { MemoryStore } from '../../src/store/memory.ts';

export const T0 = 1_800_000_000_000;
export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';
export const METRICS_TOKEN = 'metrics-token-of-the-tests';
const HOST = 'http://127.0.0.1:8787';

export class ManualClock implements Clock {
  shiftMs = 0;
  #nowMs = T0;
  #timers: { atMs: number; call: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  preciseMs(): number {
    return performance.now();
  }

  followWallClock(): void {}

  after(delayMs: number, call: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, call };
    this.#timers.push(timer);
    return { cancel: () => this.#timers = this.#timers.filter((other) => other !== timer) };
  }

  soon(call: () => void): void {
    setImmediate(call);
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.call();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** Lets what was promised happen. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((done) => setImmediate(done));
}

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
}

export class TestServer {
  readonly clock = new ManualClock();
  readonly store: MemoryStore;
  readonly server: Server;
  readonly fetch: Fetch;

  private constructor(store: MemoryStore, server: Omit<Server, 'desk'>, desk: Server['desk']) {
    this.store = store;
    this.server = { ...server, desk };
    this.clock = server.scheduler.clock as ManualClock;
    this.fetch = makeApp(this.server);
  }

  static async start(store = new MemoryStore()): Promise<TestServer> {
    const clock = new ManualClock();
    const snapshot = await store.open();
    const scheduler = new Scheduler({
      store,
      clock,
      fence: snapshot.fence,
      attempt: snapshot.attempt,
      random: () => 0.5,
      events: {
        lapsed: () => {},
        storeFailing: () => {},
        storeRecovered: () => {},
        storeLost: () => {},
        broken: (error) => {
          throw error;
        },
      },
    });
    const directory = new Directory(
      store,
      scheduler,
      new Vault('master key of the tests 0123456789abcdef'),
    );
    directory.load(snapshot);
    const adminHash = hashOf(ADMIN_TOKEN);
    const metricsHash = hashOf(METRICS_TOKEN);
    const desk = new Desk({ scheduler, store, adminHash, metricsHash });
    const governors = new GovernorKeeper(store, scheduler);
    const access = openAccess({
      clock,
      keepNonce: (row) => scheduler.journal.keepNonce(row),
      clientIpHeader: 'x-forwarded-for',
      fetch: () => Promise.reject(new Error('no network in tests')),
    });
    return new TestServer(store, {
      forwarding: new Forwarding({
        dial: () => Promise.reject(new DialError('refused')),
        nowMs: () => clock.nowMs(),
      }),
      access,
      scheduler,
      directory,
      governors,
      store,
      deadlines: new Deadlines(clock),
      adminHash: hashOf(ADMIN_TOKEN),
      isTls: false,
      baseDomain: 'localhost',
      describe: () => ({ version: '0.0.0', runtime: 'test', schema: 1, uptimeMs: 1 }),
    }, desk);
  }

  /** One request; a body that is no string goes as JSON. */
  async call(path: string, { method = 'GET', body, headers = {}, address }: Call = {}) {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const request = new Request(`${HOST}${path}`, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    const hostname = address ?? '127.0.0.1';
    return await this.fetch(request, { remoteAddr: { transport: 'tcp', hostname } });
  }

  /** The same as the administrator. */
  admin(path: string, call: Call = {}): Promise<Response> {
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    return this.call(path, { ...call, headers: { authorization, ...call.headers } });
  }

  /** Makes a pool that wants no key. */
  async makePool(name: string, settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const access = { key: { required: false } };
    const answer = await this.admin('/admin/api/pools', {
      method: 'POST',
      body: { name, access, ...settings },
    });
    if (answer.status !== 201) throw new Error(await answer.text());
  }

  acquire(pool: string, body: Readonly<Record<string, unknown>> = {}): Promise<Response> {
    return this.call(`/pools/${pool}/lock/acquire`, { method: 'POST', body });
  }
}
