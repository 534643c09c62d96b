/**
 * A whole server in the process of the test: the app, a scheduler on a clock that stands still and
 * the store in memory, unless said otherwise. No upstream and no key server can be reached.
 */
import { openAccess } from '../../src/access/access.ts';
import { hashOf } from '../../src/access/keys.ts';
import type { AddressSettings } from '../../src/access/peer_address.ts';
import type { FetchKeys } from '../../src/access/remote_keys.ts';
import { Vault } from '../../src/access/vault.ts';
import { makeApp, type Respond } from '../../src/http/app.ts';
import { Desk } from '../../src/http/desk.ts';
import { Forwarding } from '../../src/http/forwarding.ts';
import type { Server } from '../../src/http/server.ts';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { patient } from '../../src/scheduler/patience.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import type { Store } from '../../src/store/store.ts';
import { DialError } from '../../src/upstream/forward/dial.ts';
import { QUIET } from './events.ts';
import { respond } from './http.ts';
import { LoopClock, type ManualClock } from './manual_clock.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';
export const AS_ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };
export const METRICS_TOKEN = 'metrics-token-of-the-tests';
export const MASTER_KEY = 'master key of the tests 0123456789abcdef';

export interface ServerParts extends Partial<AddressSettings> {
  readonly store?: Store;
  readonly clock?: ManualClock;
  /** The network of the key servers. */
  readonly fetch?: FetchKeys;
  readonly baseDomain?: string;
  /** Told of a fault of the scheduler, which otherwise is thrown. */
  readonly broken?: (error: unknown) => void;
}

/** Opens the store, and puts together what serve does. */
export async function openServer(parts: ServerParts = {}): Promise<Server> {
  const { clock = new LoopClock(), baseDomain = 'localhost' } = parts;
  const store = patient(parts.store ?? new MemoryStore(), clock);
  const { broken = QUIET.broken, fetch = noNetwork } = parts;
  const snapshot = await store.open();
  const { fence, attempt } = snapshot;
  const events = { ...QUIET, broken };
  const scheduler = new Scheduler({ store, clock, fence, attempt, random: () => 0.5, events });
  const directory = new Directory(store, scheduler, { vault: new Vault(MASTER_KEY), baseDomain });
  directory.load(snapshot);
  scheduler.restore(snapshot.leases);
  const keepNonce = scheduler.journal.keepNonce.bind(scheduler.journal);
  const access = openAccess({ ...parts, fetch, clock, keepNonce });
  access.nonces.restore(await store.readNonces());
  const adminHash = hashOf(ADMIN_TOKEN);
  return {
    scheduler,
    directory,
    governors: new GovernorKeeper(store, scheduler),
    store,
    deadlines: new Deadlines(clock),
    forwarding: new Forwarding({
      dial: () => Promise.reject(new DialError('refused')),
      nowMs: () => clock.nowMs(),
    }),
    access,
    adminHash,
    isTls: false,
    desk: new Desk({ scheduler, store, adminHash, metricsHash: hashOf(METRICS_TOKEN) }),
    baseDomain,
    describe: () => ({ version: '0.0.0', runtime: 'test', schema: 1, uptimeMs: 1 }),
  };
}

function noNetwork(url: string): Promise<Response> {
  return Promise.reject(new Error(`a fetch of ${url} was not expected`));
}

/** Where a request came from, as the runtime tells it. */
export function peerOf(hostname = '127.0.0.1') {
  return { remoteAddr: { transport: 'tcp', hostname } };
}

export interface Call {
  readonly method?: string;
  /** One that is no string goes as JSON. */
  readonly body?: unknown;
  readonly headers?: HeadersInit;
  /** The caller's address. */
  readonly from?: string;
  readonly host?: string;
}

/** A server whose answers come as they are, streams included. */
export class TestServer {
  readonly server: Server;
  readonly clock: ManualClock;
  readonly store: Store;
  readonly app: Respond;

  constructor(server: Server) {
    this.server = server;
    this.clock = server.scheduler.clock as ManualClock;
    this.store = server.store;
    this.app = makeApp(server);
  }

  static async start(store: Store = new MemoryStore()): Promise<TestServer> {
    return new TestServer(await openServer({ store }));
  }

  async call(path: string, call: Call = {}): Promise<Response> {
    const { method = 'GET', body, headers = {}, from, host = '127.0.0.1:8787' } = call;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const ask = {
      method,
      host,
      target: path,
      headers,
      ...(text === undefined ? {} : { body: text }),
    };
    return await respond(this.app, ask, peerOf(from));
  }

  /** A call of the administrator. */
  admin(method: string, path: string, body?: unknown): Promise<Response> {
    return this.call(`/admin/api${path}`, { method, headers: AS_ADMIN, body });
  }

  /** Makes a pool that wants no key. */
  async openPool(name: string, settings: object = {}): Promise<void> {
    const access = { key: { required: false } };
    const answer = await this.admin('POST', '/pools', { name, access, ...settings });
    if (answer.status !== 201) throw new Error(await answer.text());
  }

  acquire(pool: string, body: object = {}): Promise<Response> {
    return this.call(`/pools/${pool}/lock/acquire`, { method: 'POST', body });
  }
}
