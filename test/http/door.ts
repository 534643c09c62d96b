/**
 * A whole server in the process of the test: the app, a scheduler on a manual clock and the store
 * in memory. A request's path goes in as it is written, as the runtime hands it over.
 */
import { Forwarding } from '../../src/http/forwarding.ts';
import { DialError } from '../../src/upstream/forward/line.ts';
import { openAccess } from '../../src/access/access.ts';
import { hashOf } from '../../src/access/keys.ts';
import { Vault } from '../../src/access/vault.ts';
import { type Fetch, makeApp } from '../../src/http/app.ts';
import { Desk } from '../../src/http/desk.ts';
import type { Server } from '../../src/http/server.ts';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../support/manual_clock.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';
export const WRONG_KEY = `nb_live_${'x'.repeat(40)}`;

export interface Call {
  readonly headers?: HeadersInit;
  readonly body?: string | Uint8Array | ReadableStream;
  readonly host?: string;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface DoorParts {
  readonly store?: Store;
  readonly change?: (server: Server) => Partial<Server>;
}

export class Door {
  readonly clock: ManualClock;
  readonly server: Server;
  readonly app: Fetch;
  readonly broken: unknown[] = [];

  private constructor(server: Server, clock: ManualClock) {
    this.server = server;
    this.clock = clock;
    this.app = makeApp(server);
  }

  static async open({ store = new MemoryStore(), change }: DoorParts = {}): Promise<Door> {
    const clock = new ManualClock();
    const snapshot = await store.open();
    const { fence, attempt } = snapshot;
    const broken: unknown[] = [];
    const scheduler = new Scheduler({
      store,
      clock,
      fence,
      attempt,
      random: () => 0.5,
      events: {
        lapsed: () => {},
        storeFailing: () => {},
        storeRecovered: () => {},
        storeLost: () => {},
        broken: (error) => broken.push(error),
      },
    });
    const directory = new Directory(
      store,
      scheduler,
      new Vault('master key of the tests 0123456789abcdef'),
    );
    directory.load(snapshot);
    const adminHash = hashOf(ADMIN_TOKEN);
    const server: Server = {
      access: openAccess({
        clock,
        keepNonce: (row) => scheduler.journal.keepNonce(row),
        clientIpHeader: 'x-forwarded-for',
        fetch: () => Promise.reject(new Error('no network in tests')),
      }),
      forwarding: new Forwarding({
        dial: () => Promise.reject(new DialError('refused')),
        nowMs: () => clock.nowMs(),
      }),
      scheduler,
      directory,
      governors: new GovernorKeeper(store, scheduler),
      store,
      deadlines: new Deadlines(clock),
      adminHash,
      desk: new Desk({ scheduler, store, adminHash, metricsHash: null }),
      isTls: false,
      baseDomain: 'localhost',
      describe: () => ({ version: '0.0.0', runtime: 'test', schema: 1, uptimeMs: 1 }),
    };
    return new Door({ ...server, ...change?.(server) }, clock);
  }

  /** Sends a request; the answer may take time that the test must let pass. */
  async send(method: string, target: string, call: Call = {}): Promise<Answer> {
    const { host = '127.0.0.1:8787', headers = {}, body, signal } = call;
    const request = new Request('http://127.0.0.1:8787/', {
      method,
      headers,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    } as RequestInit);
    // Making a Request would tidy the path up, which the runtime does not do.
    Object.defineProperty(request, 'url', { value: `http://${host}${target}` });
    const peer = { remoteAddr: { transport: 'tcp', hostname: '127.0.0.1' } };
    const answer = await this.app(request, peer);
    const text = await answer.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: json as Answer['json'],
    };
  }

  /** Sends, and does all that needs no time. */
  async call(method: string, target: string, call: Call = {}): Promise<Answer> {
    return await this.settled(this.send(method, target, call));
  }

  async admin(method: string, path: string, body?: unknown): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return await this.call(method, `/admin/api${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(text === undefined ? {} : { body: text }),
    });
  }

  /** Makes a pool with one key. */
  async pool(name: string, settings: object = {}): Promise<Caller> {
    const made = await this.admin('POST', '/pools', { name, ...settings });
    if (made.status !== 201) throw new Error(`pool ${name}: ${made.text}`);
    const { json } = await this.admin('POST', `/pools/${name}/keys`, { name: 'test' });
    return new Caller(this, name, String(json['key']));
  }

  /** Lets the loop turn until the promise is kept; the clock stands still. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = promise.finally(() => isDone = true);
    done.catch(() => {});
    for (let turns = 0; !isDone && turns < 2000; turns++) {
      await this.clock.settle();
      if (turns > 2) await new Promise((next) => setImmediate(next));
    }
    if (!isDone) throw new Error('the answer needs time to pass');
    return await done;
  }
}

/** The lock calls of one pool with one key. */
export class Caller {
  readonly door: Door;
  readonly name: string;
  readonly key: string;

  constructor(door: Door, name: string, key: string) {
    this.door = door;
    this.name = name;
    this.key = key;
  }

  /** Sends without waiting for the answer. */
  send(path: string, { headers = {}, ...call }: Call = {}): Promise<Answer> {
    const sent = new Headers(headers);
    if (!sent.has('x-nthpool-key')) sent.set('x-nthpool-key', this.key);
    return this.door.send('POST', `/pools/${this.name}/lock/${path}`, { ...call, headers: sent });
  }

  acquire(body?: unknown, call: Call = {}): Promise<Answer> {
    return this.#settled('acquire', body, call);
  }

  renew(slotId: string, call: Call = {}): Promise<Answer> {
    return this.#settled(`${slotId}/renew`, undefined, call);
  }

  release(slotId: string, body?: unknown, call: Call = {}): Promise<Answer> {
    return this.#settled(`${slotId}/release`, body, call);
  }

  async hold(body?: unknown): Promise<string> {
    const { status, text, json } = await this.acquire(body);
    if (status !== 200) throw new Error(`acquire: ${status} ${text}`);
    return String(json['slotId']);
  }

  /** A waiter: what it is told comes when the test lets it. */
  async wait(body: object = { waitMs: 10_000 }, call: Call = {}): Promise<Told> {
    const told: Told = { answer: null };
    void this.send('acquire', { ...call, body: JSON.stringify(body) }).then((answer) => {
      told.answer = answer;
    });
    const queued = this.queued;
    for (let turns = 0; this.queued === queued && turns < 50; turns++) {
      await this.door.clock.settle();
      await new Promise((next) => setImmediate(next));
    }
    return told;
  }

  get inUse(): number {
    return this.door.server.scheduler.pools.get(this.name)?.inUse ?? -1;
  }

  get queued(): number {
    return this.door.server.scheduler.pools.get(this.name)?.queue.length ?? -1;
  }

  #settled(path: string, body: unknown, call: Call): Promise<Answer> {
    const text = typeof body === 'string' || body instanceof Uint8Array
      ? body
      : JSON.stringify(body);
    return this.door.settled(
      this.send(path, { ...call, ...(text === undefined ? {} : { body: text }) }),
    );
  }
}

export interface Told {
  answer: Answer | null;
}

/** Lets time pass, and all that follows from it happen. */
export async function pass({ clock }: Door, ms: number): Promise<void> {
  await clock.pass(ms);
  for (let turns = 0; turns < 10; turns++) {
    await new Promise((next) => setImmediate(next));
    await clock.settle();
  }
}

/** A pool with so many slots that never moves its limit. */
export function fixed(limit: number, more: object = {}): object {
  return { concurrency: { limit, mode: 'fixed' }, ...more };
}

/** Time for all to be answered; a grant after a wait first looks whether its caller is there. */
export function soon(door: Door): Promise<void> {
  return pass(door, 1);
}
