/**
 * The key sets of all JWKS servers that pools name, one each however many pools share it, so that
 * a change of a pool's settings does not forget keys that are known.
 */
import type { FetchKeys, Timing } from './remote_keys.ts';
import { RemoteKeys } from './remote_keys.ts';

/** Beyond this, the set that was asked for longest ago is forgotten. */
const SETS_MAX = 1_000;

export class KeySets {
  readonly #timing: Timing;
  readonly #fetch: FetchKeys;
  readonly #sets = new Map<string, RemoteKeys>();

  constructor(timing: Timing, fetch: FetchKeys) {
    this.#timing = timing;
    this.#fetch = fetch;
  }

  at(url: string): RemoteKeys {
    const known = this.#sets.get(url) ?? new RemoteKeys(url, this.#timing, this.#fetch);
    this.#sets.delete(url);
    this.#sets.set(url, known);
    if (this.#sets.size > SETS_MAX) this.#sets.delete(this.#sets.keys().next().value as string);
    return known;
  }
}
