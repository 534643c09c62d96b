/**
 * One request to a pool, as the access policies read it. What costs something (the address, the
 * body, whether the host is ours) is found out only when it is asked for, and once.
 */
import { isLocalOrBase, isPrivateName } from '../access/browser.ts';
import type { PeerAddress } from '../access/peer_address.ts';
import type { AccessRequest } from '../access/policy.ts';
import { CEILINGS } from '../ceilings.ts';
import type { Body, Bytes } from './body.ts';
import { ByteBudget, hasBody, jsonIn, readBytes } from './body.ts';
import type { Peer, Server } from './server.ts';

const LOGGED_PATH_MAX = 1024;
const budget = new ByteBudget(CEILINGS.unprovenBodiesBytes);
const NO_BYTES: Bytes = { kind: 'bytes', bytes: new Uint8Array(0) };

export interface CallFacts {
  readonly request: Request;
  readonly peer: Peer;
  /** The pool's name as the caller wrote it. */
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  /** Path and query exactly as they were sent. */
  readonly target: string;
  /** Whether the host is a pool's by its name. */
  readonly isPoolHost?: boolean;
}

export class Call implements AccessRequest {
  readonly request: Request;
  readonly peer: Peer;
  readonly pool: string;
  readonly door: 'lock' | 'proxy';
  readonly target: string;
  readonly #server: Server;
  readonly #isPoolHost: boolean;
  #address: PeerAddress | null = null;
  #body: Promise<Bytes> | null = null;

  constructor(server: Server, facts: CallFacts) {
    const { request, peer, pool, door, target, isPoolHost = false } = facts;
    this.#server = server;
    this.request = request;
    this.peer = peer;
    this.pool = pool;
    this.door = door;
    this.target = target;
    this.#isPoolHost = isPoolHost;
  }

  get method(): string {
    return this.request.method;
  }

  get headers(): Headers {
    return this.request.headers;
  }

  get address(): PeerAddress {
    return this.#address ??= this.#server.access.addresses.read(this.peer, this.headers);
  }

  /** The path without its query, which may hold secrets. */
  get loggedPath(): string {
    const query = this.target.indexOf('?');
    const path = query < 0 ? this.target : this.target.slice(0, query);
    return path.slice(0, LOGGED_PATH_MAX);
  }

  get host(): string {
    const { url } = this.request;
    const hostAt = url.indexOf('://') + 3;
    return url.slice(hostAt, url.indexOf('/', hostAt));
  }

  /** A listener that is one pool's alone is called by whatever name it has in its network. */
  get isOwnHost(): boolean {
    if (this.#isPoolHost || isLocalOrBase(this.host, this.#server.baseDomain)) return true;
    return this.door === 'proxy' && isPrivateName(this.host);
  }

  /** The body, read once; a second call with another bound gets what the first one read. */
  body(bytesMax: number): Bytes | Promise<Bytes> {
    if (this.#body !== null) return this.#body;
    if (!hasBody(this.request)) return NO_BYTES;
    const { deadlines } = this.#server;
    return this.#body = readBytes(this.request, { bytesMax, deadlines, budget });
  }

  /** The body where a policy has read it; null where it is still to come. */
  get bodyRead(): Promise<Bytes> | null {
    return this.#body;
  }

  /** The body as JSON; null where there is none to wait for. */
  json(bytesMax: number): Promise<Body> | null {
    const read = this.body(bytesMax);
    if (!(read instanceof Promise)) return null;
    return read.then((body) => jsonIn(body, bytesMax));
  }
}
