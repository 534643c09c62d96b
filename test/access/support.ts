/**
 * A whole server before which callers of one pool prove who they are, with a network that the test
 * plays.
 */
import { freshKey, keyRow } from '../../src/access/keys.ts';
import { signedHeaders } from '../../src/access/signed_text.ts';
import { T0 } from '../support/pools.ts';
import { type Call, openServer, type ServerParts, TestServer } from '../support/server.ts';

export const SECRET = 'an HMAC secret of the tests: 0123456789';
export const HMAC_ALONE = { key: { required: false }, hmac: { secrets: [SECRET] } };

/** Lets everything run that waits for nothing but its turn. */
export function turn(): Promise<void> {
  return new Promise((done) => setTimeout(done, 2));
}

/** Turns enough for a request to reach the key server, signatures on other threads included. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 50; i++) await turn();
}

export interface Ask extends Call {
  readonly pool?: string;
  /** `acquire`, `{slotId}/renew`, `{slotId}/release`; with its query. */
  readonly path?: string;
  readonly body?: string;
}

export class World extends TestServer {
  static async open(parts: ServerParts = {}): Promise<World> {
    return new World(await openServer(parts));
  }

  /** With the pool `p`. */
  static async with(access: object): Promise<World> {
    const world = await World.open();
    const made = await world.makePool(access);
    if (made.status !== 201) throw new Error(`makePool: ${made.status} ${await made.text()}`);
    return world;
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

  ask({ pool = 'p', path = 'acquire', ...call }: Ask = {}): Promise<Response> {
    const target = `/pools/${pool}/lock/${path}`;
    return this.call(target, { method: 'POST', host: 'localhost:8787', ...call });
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
    await this.server.scheduler.journal.settled();
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
