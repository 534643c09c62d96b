/**
 * A whole server in the process of the test, on a store in memory, with a clock that stands still
 * until it is moved and a network that the test plays.
 */
import { Forwarding } from '../../src/http/forwarding.ts';
import { DialError } from '../../src/upstream/forward/line.ts';
import { openAccess } from '../../src/access/access.ts';
import { freshKey, hashOf, keyRow } from '../../src/access/keys.ts';
import type { AddressSettings } from '../../src/access/peer_address.ts';
import type { FetchKeys } from '../../src/access/remote_keys.ts';
import { signedHeaders } from '../../src/access/signed_text.ts';
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
import type { Store } from '../../src/store/store.ts';

export const T0 = 1_800_000_000_000;
export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';
export const SECRET = 'an HMAC secret of the tests: 0123456789';
export const MASTER_KEY = 'master key of the tests 0123456789abcdef';

/** Time that moves when it is told to; what is due is called in order. */
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
    while (true) {
      const [next] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.call();
      await turn();
    }
    this.#nowMs = endMs;
    await turn();
  }
}

/** Lets everything run that waits for nothing but its turn. */
export function turn(): Promise<void> {
  return new Promise((done) => setTimeout(done, 2));
}

/** Turns enough for a request to reach the key server, signatures on other threads included. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 50; i++) await turn();
}

export interface WorldOptions extends Partial<AddressSettings> {
  readonly store?: Store;
  readonly clock?: ManualClock;
  readonly fetch?: FetchKeys;
  readonly baseDomain?: string;
}

export interface Ask {
  readonly pool?: string;
  /** `acquire`, `{slotId}/renew`, `{slotId}/release`; with its query. */
  readonly path?: string;
  readonly headers?: HeadersInit;
  readonly body?: string;
  readonly from?: string;
  readonly host?: string;
  readonly method?: string;
}

export class World {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly server: Server;
  readonly app: Fetch;

  private constructor(server: Server, clock: ManualClock) {
    this.clock = clock;
    this.server = server;
    this.store = server.store;
    this.app = makeApp(server);
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const { store = new MemoryStore(), clock = new ManualClock(), baseDomain = 'localhost' } =
      options;
    const snapshot = await store.open();
    const { fence, attempt } = snapshot;
    const scheduler = new Scheduler({
      store,
      clock,
      fence,
      attempt,
      random: () => 0.5,
      events: SILENT,
    });
    const directory = new Directory(store, scheduler, new Vault(MASTER_KEY));
    directory.load(snapshot);
    scheduler.restore(snapshot.leases);
    const keepNonce = scheduler.journal.keepNonce.bind(scheduler.journal);
    const access = openAccess({ fetch: noNetwork, ...options, clock, keepNonce });
    access.nonces.restore(await store.readNonces());
    const adminHash = hashOf(ADMIN_TOKEN);
    const server: Server = {
      forwarding: new Forwarding({
        dial: () => Promise.reject(new DialError('refused')),
        nowMs: () => clock.nowMs(),
      }),
      access,
      scheduler,
      directory,
      governors: new GovernorKeeper(store, scheduler),
      store,
      deadlines: new Deadlines(clock),
      adminHash,
      desk: new Desk({ scheduler, store, adminHash, metricsHash: null }),
      isTls: false,
      baseDomain,
      describe: () => ({}),
    };
    return new World(server, clock);
  }

  /** Makes a pool through the API; returns what was answered. */
  async makePool(access: object = {}, name = 'p'): Promise<Response> {
    const concurrency = { limit: 100 };
    return await this.admin('POST', '/pools', { name, concurrency, access });
  }

  /** Makes a key; the key itself. */
  async makeKey(pool = 'p', expiresAt: number | null = null): Promise<string> {
    const key = freshKey();
    const entry = this.server.directory.get(pool);
    if (entry === undefined) throw new Error(`no pool ${pool}`);
    const id = `key_${crypto.randomUUID()}`;
    const facts = { id, pool, name: 'k', createdAt: T0, expiresAt, lastUsedAt: null };
    await this.server.directory.addKeys(entry, [keyRow(key, facts)]);
    return key;
  }

  async admin(method: string, path: string, body?: unknown): Promise<Response> {
    const request = new Request(`http://localhost:8787/admin/api${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return await this.app(request, peerOf('127.0.0.1'));
  }

  async ask(ask: Ask = {}): Promise<Response> {
    const { pool = 'p', path = 'acquire', headers = {}, body, from = '127.0.0.1' } = ask;
    const { host = 'localhost:8787', method = 'POST' } = ask;
    const request = new Request(`http://${host}/pools/${pool}/lock/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return await this.app(request, peerOf(from));
  }

  async status(ask: Ask = {}): Promise<number> {
    return (await this.ask(ask)).status;
  }

  /** The headers of a signed call, as of now. */
  signed(ask: Ask & SignAs = {}): Record<string, string> {
    const { pool = 'p', path = 'acquire', body = '', method = 'POST' } = ask;
    return signedHeaders(ask.secret ?? SECRET, {
      pool,
      door: ask.door ?? 'lock',
      timestamp: String(ask.timestamp ?? this.clock.nowMs()),
      nonce: ask.nonce ?? crypto.randomUUID(),
      method,
      target: `/pools/${pool}/lock/${path}`,
      body: new TextEncoder().encode(body),
    });
  }

  /** Free slots of a pool. */
  remaining(pool = 'p'): number | undefined {
    return this.server.directory.get(pool)?.pool.gauge(this.clock.nowMs()).remaining;
  }

  /** The newest reason in the pool's access log. */
  async reason(pool = 'p'): Promise<string | null | undefined> {
    const settled = this.server.scheduler.journal.settled();
    await settled;
    const { entries } = await this.store.readLog({ pool, limit: 1 });
    return entries[0]?.reason;
  }
}

export interface SignAs {
  readonly secret?: string;
  readonly timestamp?: number;
  readonly nonce?: string;
  readonly door?: 'lock' | 'proxy';
}

export function peerOf(hostname: string) {
  return { remoteAddr: { transport: 'tcp', hostname } };
}

const SILENT = {
  lapsed: () => {},
  storeFailing: () => {},
  storeRecovered: () => {},
  storeLost: () => {},
  broken: (error: unknown) => {
    throw error;
  },
};

function noNetwork(url: string): Promise<Response> {
  return Promise.reject(new Error(`a fetch of ${url} was not expected`));
}
