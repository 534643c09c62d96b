/**
 * Pool keys: how they look, are hashed, and are found again. What is stored of a key is its SHA-256
 * alone; in full it is in the answer that makes it and, once it was used, in this process's memory,
 * to spare the hashing. A look-up goes by the whole key or its hash, so its time tells nothing of
 * how near a guess was.
 */
import { hash } from 'node:crypto';
import type { KeyRow } from '../store/store.ts';
import { KeyUses, type Use } from './key_uses.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 40;
const PREFIX_LENGTH = 12;
/** The largest multiple of 62 below 256: a byte at or above it would favour some characters. */
const FAIR_BELOW = 248;

export const KEY_PREFIX = 'nb_';
const LIVE_PREFIX = `${KEY_PREFIX}live_`;
const LIVE_KEY = new RegExp(`${LIVE_PREFIX}[0-9A-Za-z]{32,}`, 'g');

/** A fresh key: `nb_live_` and 40 base62 characters (238 bits). */
export function freshKey(): string {
  let text = '';
  while (text.length < RANDOM_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH))) {
      if (byte < FAIR_BELOW && text.length < RANDOM_LENGTH) text += ALPHABET[byte % 62];
    }
  }
  return LIVE_PREFIX + text;
}

/** The text with no more of each key in it than is kept of keys. */
export function maskKeys(text: string): string {
  if (!text.includes(LIVE_PREFIX)) return text;
  return text.replace(LIVE_KEY, (key) => `${key.slice(0, PREFIX_LENGTH)}***`);
}

/** Lower-case hex SHA-256 of the key as UTF-8. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The row that stands for a fresh key. */
export function keyRow(key: string, facts: Omit<KeyRow, 'hash' | 'prefix'>): KeyRow {
  return { ...facts, hash: hashOf(key), prefix: key.slice(0, PREFIX_LENGTH) };
}

interface Held {
  row: KeyRow;
  readonly use: Use;
}

/** The keys of one pool. */
export class KeyRing {
  readonly #byHash = new Map<string, Held>();
  readonly #byId = new Map<string, Held>();
  /** Keys that were right before, to spare the hashing; never more than there are keys. */
  readonly #known = new Map<string, Held>();
  readonly #uses: KeyUses;
  /** Whether a key was used since the last {@link takeUses}. */
  #isUsed = false;

  /** @param uses what gives the uses of all pools' keys their time. */
  constructor(rows: Iterable<KeyRow> = [], uses = new KeyUses()) {
    this.#uses = uses;
    for (const row of rows) this.add(row);
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** Adds a key, or changes what is known of one; its uses stay. */
  add(row: KeyRow): void {
    const known = this.#byHash.get(row.hash);
    if (known !== undefined) this.#byId.delete(known.row.id);
    const held = { row, use: known?.use ?? { atMs: null, isFresh: false } };
    this.#byHash.set(row.hash, held);
    this.#byId.set(row.id, held);
    this.#known.clear();
  }

  remove(id: string): boolean {
    this.#known.clear();
    const held = this.#byId.get(id);
    if (held === undefined) return false;
    this.#byId.delete(id);
    return this.#byHash.delete(held.row.hash);
  }

  /** The row of a key, unless it has expired by now; notes its use. */
  find(key: string, epochMs: () => number): KeyRow | undefined {
    let held = this.#known.get(key);
    if (held === undefined) {
      held = this.#byHash.get(hashOf(key));
      if (held === undefined) return undefined;
      this.#known.set(key, held);
    }
    const { row } = held;
    if (row.expiresAt !== null && row.expiresAt <= epochMs()) return undefined;
    this.#isUsed = true;
    this.#uses.note(held.use);
    return row;
  }

  /** Whether the key of this id is there, and has not expired by now. */
  isValid(id: string, epochMs: number): boolean {
    return this.expiresAt(id) > epochMs;
  }

  /** Epoch ms; Infinity: never; -Infinity: there is no such key. */
  expiresAt(id: string): number {
    const held = this.#byId.get(id);
    return held === undefined ? -Infinity : held.row.expiresAt ?? Infinity;
  }

  /** In the order in which they were made. */
  rows(): KeyRow[] {
    return [...this.#byHash.values()].map(({ row }) => row);
  }

  /**
   * The keys that were used since the last call, by id, and when, in epoch ms; their rows say so
   * from now on. All uses must have their time by now.
   */
  takeUses(shiftMs: number): Map<string, number> {
    const taken = new Map<string, number>();
    if (!this.#isUsed) return taken;
    this.#isUsed = false;
    for (const held of this.#byHash.values()) {
      if (held.use.atMs === null) continue;
      const lastUsedAt = held.use.atMs + shiftMs;
      held.use.atMs = null;
      held.row = { ...held.row, lastUsedAt };
      taken.set(held.row.id, lastUsedAt);
    }
    return taken;
  }
}
