/**
 * Which host a request was sent to: a pool's own host, on which every path is the proxy's, or any
 * other, on which the API lives. Host names are compared without case, port and trailing dot.
 */
const CACHE_MAX = 1000;
const UNSOUND = /[/?#@\\]/;

/** Whether an authority holds no character with which another part of a URL begins. */
export function isSoundHost(authority: string): boolean {
  return !UNSOUND.test(authority);
}

export class Hosts {
  readonly #suffix: string;
  /** What was found for an authority as it was sent. */
  readonly #seen = new Map<string, string | null>();

  constructor(baseDomain: string) {
    this.#suffix = `.${baseDomain.toLowerCase()}`;
  }

  /**
   * The pool that an authority (`host:port`) names: every host one label below the base domain is
   * a pool's, known or not. null for an API host.
   */
  poolOf(authority: string): string | null {
    const seen = this.#seen.get(authority);
    if (seen !== undefined) return seen;
    const host = authority.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    const label = host.endsWith(this.#suffix) ? host.slice(0, -this.#suffix.length) : '';
    const pool = label === '' || label.includes('.') ? null : label;
    if (this.#seen.size >= CACHE_MAX) this.#seen.clear();
    this.#seen.set(authority, pool);
    return pool;
  }
}
