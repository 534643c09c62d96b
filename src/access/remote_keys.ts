/**
 * The public keys that a JWKS server publishes, kept here and fetched anew now and then. Known keys
 * stay in use while the server is down, hangs or answers nonsense. A token that no known key fits
 * may ask for a fetch, but not often; nothing in a token decides what is fetched.
 */
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { createLocalJWKSet, errors } from 'jose';
import { log } from '../log.ts';

/** How long keys are used before they are fetched anew, in the background. */
const FRESH_MS = 10 * 60_000;
/** The pause after a fetch before a token may ask for the next; doubles while it brings nothing. */
const COOL_MS_MIN = 1_000;
const COOL_MS_MAX = 30_000;
const FETCH_MS_MAX = 4_500;
const BYTES_MAX = 1_000_000;
const KEYS_MAX = 1_000;

/** Time as the server keeps it. */
export interface Timing {
  nowMs(): number;
  after(delayMs: number, call: () => void): { cancel(): void };
}

export type FetchKeys = (url: string, init: RequestInit) => Promise<Response>;

export class KeysUnavailableError extends Error {
  override name = 'KeysUnavailableError';
}

export class RemoteKeys {
  readonly #url: string;
  readonly #timing: Timing;
  readonly #fetch: FetchKeys;
  #find: JWTVerifyGetKey | null = null;
  #text = '';
  #fetchedAtMs = -Infinity;
  #triedAtMs = -Infinity;
  #coolMs = COOL_MS_MIN;
  #pending: Promise<void> | null = null;
  #isFailing = false;
  /** Changes with every set of keys that differs from the one before. */
  version = 0;

  constructor(url: string, timing: Timing, fetch: FetchKeys) {
    this.#url = url;
    this.#timing = timing;
    this.#fetch = fetch;
  }

  /** Fetches in the background where the keys are old; for callers that need no key now. */
  tend(): void {
    const nowMs = this.#timing.nowMs();
    if (nowMs - this.#fetchedAtMs > FRESH_MS && this.#hasCooled()) void this.#refresh();
  }

  /** The key for a token. @throws KeysUnavailableError, or jose's errors where none fits. */
  readonly keyFor: JWTVerifyGetKey = async (header, token) => {
    if (this.#find === null) {
      if (this.#pending !== null || this.#hasCooled()) await this.#refresh();
      if (this.#find === null) throw new KeysUnavailableError('no keys could be fetched');
    }
    this.tend();
    try {
      return await this.#find(header, token);
    } catch (error) {
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || !await this.renew()) throw error;
    }
    return await this.#find(header, token);
  };

  /** Fetches anew for a token that no key fits, but not often; whether that brought other keys. */
  async renew(): Promise<boolean> {
    if (this.#pending === null && !this.#hasCooled()) return false;
    const { version } = this;
    await this.#refresh();
    const isOther = version !== this.version;
    this.#coolMs = isOther ? COOL_MS_MIN : Math.min(2 * this.#coolMs, COOL_MS_MAX);
    return isOther;
  }

  #hasCooled(): boolean {
    return this.#timing.nowMs() - this.#triedAtMs >= this.#coolMs;
  }

  /** One fetch at a time, for all who ask meanwhile. Never throws. */
  #refresh(): Promise<void> {
    this.#pending ??= this.#load().finally(() => {
      this.#pending = null;
      this.#triedAtMs = this.#timing.nowMs();
    });
    return this.#pending;
  }

  async #load(): Promise<void> {
    try {
      const text = await this.#download();
      if (text !== this.#text) {
        this.#find = createLocalJWKSet(keySetOf(text));
        this.#text = text;
        this.version++;
      }
      this.#fetchedAtMs = this.#timing.nowMs();
      this.#isFailing = false;
    } catch (error) {
      if (this.#isFailing) return;
      this.#isFailing = true;
      const host = new URL(this.#url).host;
      const reason = error instanceof KeysUnavailableError ? error.message : 'no connection';
      log.warn('keys of {host} could not be fetched: {reason}', { host, reason });
    }
  }

  /** The body as text, within the time and the size that it may have. */
  async #download(): Promise<string> {
    const abort = new AbortController();
    let timer: ReturnType<Timing['after']> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.#timing.after(FETCH_MS_MAX, () => {
        reject(new KeysUnavailableError('no answer in time'));
        abort.abort();
      });
    });
    try {
      return await Promise.race([this.#read(abort.signal), late]);
    } finally {
      timer?.cancel();
    }
  }

  async #read(signal: AbortSignal): Promise<string> {
    const headers = { accept: 'application/json' };
    const response = await this.#fetch(this.#url, { headers, redirect: 'manual', signal });
    if (response.status !== 200) {
      void response.body?.cancel().catch(() => {});
      throw new KeysUnavailableError(`status ${response.status}`);
    }
    const decoder = new TextDecoder();
    let text = '';
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > BYTES_MAX) throw new KeysUnavailableError(`more than ${BYTES_MAX} bytes`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }
}

/** What of an answer may be used: entries that are no key objects are left out. */
function keySetOf(text: string): JSONWebKeySet {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new KeysUnavailableError('no JSON');
  }
  const keys = typeof json === 'object' && json !== null && 'keys' in json ? json.keys : null;
  if (!Array.isArray(keys)) throw new KeysUnavailableError('no key set');
  const usable = keys.filter((key) =>
    typeof key === 'object' && key !== null && typeof key.kty === 'string' && key.kty !== 'oct'
  );
  return { keys: usable.slice(0, KEYS_MAX) };
}
