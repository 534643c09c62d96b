/**
 * A whole server in the process of the test: the app, a scheduler on a manual clock and the store
 * in memory. A request's path goes in as it is written, as the runtime hands it over.
 */
import { makeApp, type Respond } from '../../src/http/app.ts';
import type { Server } from '../../src/http/server.ts';
import { respond } from '../support/http.ts';
import { ManualClock } from '../support/manual_clock.ts';
import { AS_ADMIN, openServer, peerOf, type ServerParts } from '../support/server.ts';

export const WRONG_KEY = `nb_live_${'x'.repeat(40)}`;

export interface Call {
  readonly headers?: HeadersInit;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly host?: string;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface DoorParts extends Pick<ServerParts, 'store'> {
  readonly change?: (server: Server) => Partial<Server>;
}

export class Door {
  readonly clock: ManualClock;
  readonly server: Server;
  readonly app: Respond;
  /** The faults that the scheduler told of. */
  readonly broken: readonly unknown[];

  private constructor(server: Server, clock: ManualClock, broken: readonly unknown[]) {
    this.server = server;
    this.clock = clock;
    this.app = makeApp(server);
    this.broken = broken;
  }

  static async open({ change, ...parts }: DoorParts = {}): Promise<Door> {
    const clock = new ManualClock();
    const broken: unknown[] = [];
    const server = await openServer({ ...parts, clock, broken: (error) => broken.push(error) });
    return new Door({ ...server, ...change?.(server) }, clock, broken);
  }

  /** Sends a request; the answer may take time that the test must let pass. */
  async send(method: string, target: string, call: Call = {}): Promise<Answer> {
    const { host = '127.0.0.1:8787', headers = {}, body, signal } = call;
    const answer = await respond(this.app, {
      method,
      host,
      target,
      headers,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body }),
    }, peerOf());
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
      headers: AS_ADMIN,
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
