/**
 * Pool keys: how they look, are hashed, and are found again. A key exists in full only in the
 * answer that makes it; everything here holds its SHA-256 alone. A look-up goes by the hash, so
 * its time tells nothing of how near a guess was.
 */
import { hash } from 'node:crypto';
import type { KeyRow } from '../store/store.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 40;
const PREFIX_LENGTH = 12;
/** The largest multiple of 62 below 256: a byte at or above it would favour some characters. */
const FAIR_BELOW = 248;

export const KEY_PREFIX = 'nb_';

/** A fresh key: `nb_live_` and 40 base62 characters (238 bits). */
export function freshKey(): string {
  let text = '';
  while (text.length < RANDOM_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH))) {
      if (byte < FAIR_BELOW && text.length < RANDOM_LENGTH) text += ALPHABET[byte % 62];
    }
  }
  return `nb_live_${text}`;
}

/** Lower-case hex SHA-256 of the key as UTF-8. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The row that stands for a fresh key. */
export function keyRow(key: string, facts: Omit<KeyRow, 'hash' | 'prefix'>): KeyRow {
  return { ...facts, hash: hashOf(key), prefix: key.slice(0, PREFIX_LENGTH) };
}

/** The keys of one pool. */
export class KeyRing {
  readonly #byHash = new Map<string, KeyRow>();
  readonly #usedAt = new Map<string, number>();

  constructor(rows: Iterable<KeyRow> = []) {
    for (const row of rows) this.add(row);
  }

  get size(): number {
    return this.#byHash.size;
  }

  add(row: KeyRow): void {
    this.#byHash.set(row.hash, row);
  }

  remove(id: string): boolean {
    for (const row of this.#byHash.values()) {
      if (row.id === id) return this.#byHash.delete(row.hash);
    }
    return false;
  }

  /** The key that hashes so, unless it has expired by `epochMs`; notes its use. */
  find(hash: string, epochMs: number): KeyRow | undefined {
    const row = this.#byHash.get(hash);
    if (row === undefined || (row.expiresAt !== null && row.expiresAt <= epochMs)) return undefined;
    this.#usedAt.set(row.id, epochMs);
    return row;
  }

  /** In the order in which they were made, with the time of their last use. */
  rows(): KeyRow[] {
    return [...this.#byHash.values()].map((row) => ({
      ...row,
      lastUsedAt: this.#usedAt.get(row.id) ?? row.lastUsedAt,
    }));
  }

  /** What was used since the last call: id to epoch ms. */
  takeUses(): Map<string, number> {
    const uses = new Map(this.#usedAt);
    for (const [hash, row] of this.#byHash) {
      const usedAt = uses.get(row.id);
      if (usedAt !== undefined) this.#byHash.set(hash, { ...row, lastUsedAt: usedAt });
    }
    this.#usedAt.clear();
    return uses;
  }
}
