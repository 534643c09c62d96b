/**
 * Which host a request was sent to: a pool's own host, on which every path is the proxy's, or any
 * other, on which the API lives. Host names are compared without case, port and trailing dot.
 */
import { poolOfHost } from '../pool_host.ts';

const CACHE_MAX = 1000;
/** A host name has at most 253 characters, a port 6 more; what is longer is not worth a place. */
const CACHED_LENGTH_MAX = 260;
const SOUND = /^[a-z0-9._~%!$&'()*+;=:[\]-]*$/;

/** An authority (`host:port`) as it was sent, taken apart once. */
interface Seen {
  readonly host: string;
  /** The pool whose host it is by its name; null for any other. */
  readonly pool: string | null;
  readonly isSound: boolean;
}

export class Hosts {
  readonly #baseDomain: string;
  readonly #named: ReadonlyMap<string, string>;
  readonly #seen = new Map<string, Seen>();

  /** @param named the pools of further hosts, which may change at any time. */
  constructor(baseDomain: string, named: ReadonlyMap<string, string> = new Map()) {
    this.#baseDomain = baseDomain.toLowerCase();
    this.#named = named;
  }

  /**
   * The pool that an authority names: every host one label below the base domain is a pool's, known
   * or not, and so are the hosts that pools name. null for an API host.
   */
  poolOf(authority: string): string | null {
    const { host, pool } = this.#look(authority);
    return pool ?? this.#named.get(host) ?? null;
  }

  /** Whether an authority holds nothing with which another part of a URL, or host, begins. */
  isSound(authority: string): boolean {
    return this.#look(authority).isSound;
  }

  /**
   * Whether a request's `Host` is one host, and the same as its target's. A `Host` that came twice
   * is joined by a comma, and the target of an absolute form may name another.
   */
  agree(authority: string, hostHeader: string): boolean {
    const { host, isSound } = this.#look(hostHeader);
    if (!isSound) return false;
    return authority === hostHeader || this.#look(authority).host === host;
  }

  #look(authority: string): Seen {
    const known = this.#seen.get(authority);
    if (known !== undefined) return known;
    const lower = authority.toLowerCase();
    const host = lower.replace(/:\d*$/, '').replace(/\.$/, '');
    const pool = poolOfHost(host, this.#baseDomain);
    const seen = { host, pool, isSound: SOUND.test(lower) };
    if (authority.length > CACHED_LENGTH_MAX) return seen;
    if (this.#seen.size >= CACHE_MAX) this.#seen.clear();
    this.#seen.set(authority, seen);
    return seen;
  }
}
