/**
 * One request to a pool, as the access policies read it. What costs something (the address, the
 * body, whether the host is ours) is found out only when it is asked for, and once.
 */
import { isLocalOrBase, isPrivateName } from '../access/browser.ts';
import { maskKeys } from '../access/keys.ts';
import type { PeerAddress } from '../access/peer_address.ts';
import type { AccessRequest } from '../access/policy.ts';
import { CEILINGS } from '../ceilings.ts';
import { ByteBudget } from '../http1/byte_budget.ts';
import type { HeaderLines } from '../http1/header_lines.ts';
import type { Incoming } from '../http1/incoming.ts';
import type { Body, Bytes } from './body.ts';
import { jsonIn, readBytes, TOO_LARGE } from './body.ts';
import type { Peer, Server } from './server.ts';

const LOGGED_PATH_MAX = 1024;
/** For large bodies of callers that proved nothing yet. */
const budget = new ByteBudget(CEILINGS.unprovenBodiesBytes);
const NO_BYTES: Bytes = { kind: 'bytes', bytes: new Uint8Array(0) };

export interface CallFacts {
  readonly request: Incoming;
  readonly peer: Peer;
  /** The pool's name as the caller wrote it. */
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  /** Whether the host is a pool's by its name. */
  readonly isPoolHost?: boolean;
}

export class Call implements AccessRequest {
  readonly request: Incoming;
  readonly peer: Peer;
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  readonly #server: Server;
  readonly #isPoolHost: boolean;
  #address: PeerAddress | null = null;
  #body: Bytes | Promise<Bytes> | null = null;

  constructor(server: Server, facts: CallFacts) {
    const { request, peer, pool, door, isPoolHost = false } = facts;
    this.#server = server;
    this.request = request;
    this.peer = peer;
    this.pool = pool;
    this.door = door;
    this.#isPoolHost = isPoolHost;
  }

  get method(): string {
    return this.request.method;
  }

  get target(): string {
    return this.request.target;
  }

  get headers(): HeaderLines {
    return this.request.headers;
  }

  get address(): PeerAddress {
    return this.#address ??= this.#server.access.addresses.read(this.peer, this.headers);
  }

  /** The path without its query, which may hold secrets, and without our own keys. */
  get loggedPath(): string {
    const query = this.target.indexOf('?');
    const path = query < 0 ? this.target : this.target.slice(0, query);
    return maskKeys(path).slice(0, LOGGED_PATH_MAX);
  }

  get host(): string {
    return this.request.authority;
  }

  /** A listener that is one pool's alone is called by whatever name it has in its network. */
  get isOwnHost(): boolean {
    if (this.#isPoolHost || isLocalOrBase(this.host, this.#server.baseDomain)) return true;
    return this.door === 'proxy' && isPrivateName(this.host);
  }

  /** The body, read once; a second call with another bound gets what the first one read. */
  body(bytesMax: number): Bytes | Promise<Bytes> {
    if (this.#body !== null) return this.#body;
    const { body } = this.request;
    if (body === null) return NO_BYTES;
    if (Number.isFinite(body.left) && body.left > bytesMax) return this.#body = TOO_LARGE;
    const whole = body.whole();
    if (whole !== null) return this.#body = { kind: 'bytes', bytes: whole };
    const { deadlines } = this.#server;
    return this.#body = readBytes(body, { bytesMax, deadlines, budget });
  }

  /** The body where a policy has read it; null where it is still to come. */
  get bodyRead(): Bytes | Promise<Bytes> | null {
    return this.#body;
  }

  /** The body as JSON; null where there is none. */
  json(bytesMax: number): Body | Promise<Body> | null {
    const read = this.body(bytesMax);
    if (read === NO_BYTES) return null;
    if (!(read instanceof Promise)) return jsonIn(read, bytesMax);
    return read.then((body) => jsonIn(body, bytesMax));
  }
}
