/**
 * Pool keys: how they look, that they are random, how they are hashed and found, and the compare.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeyUses } from '../../src/access/key_uses.ts';
import { freshKey, hashOf, KeyRing, keyRow, maskKeys } from '../../src/access/keys.ts';
import { isSameSecretHash } from '../../src/access/secret.ts';
import type { KeyRow } from '../../src/store/store.ts';

const NOW_MS = 1_767_225_600_000;
const now = () => NOW_MS;
let made = 0;

function row(key: string, more: Partial<KeyRow> = {}): KeyRow {
  const facts = { id: `key_${++made}`, pool: 'a', name: 'k', createdAt: 0, expiresAt: null };
  return keyRow(key, { ...facts, lastUsedAt: null, ...more });
}

describe('freshKey', () => {
  it('is nb_live_ and base62, at least 32 characters of it, never twice the same', () => {
    const keys = new Set(Array.from({ length: 2000 }, () => freshKey()));
    expect(keys.size).toBe(2000);
    for (const key of keys) expect(key).toMatch(/^nb_live_[0-9A-Za-z]{32,}$/);
  });

  it('favours no character', () => {
    const counts = new Map<string, number>();
    const keys = Array.from({ length: 3100 }, () => freshKey().slice('nb_live_'.length));
    const all = keys.join('');
    for (const character of all) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    const mean = all.length / 62;
    // Six standard deviations: a fair draw fails once in ten million runs.
    const slack = 6 * Math.sqrt(mean);
    for (const [character, count] of counts) {
      expect(Math.abs(count - mean), character).toBeLessThan(slack);
    }
  });
});

describe('maskKeys', () => {
  it('leaves of each key its first characters, and all else as it is', () => {
    const [one, two] = [freshKey(), freshKey()];
    const start = (key: string) => `${key.slice(0, 12)}***`;
    expect(maskKeys(`/v1/${one}/x`)).toBe(`/v1/${start(one)}/x`);
    expect(maskKeys(`/${one}-${two}`)).toBe(`/${start(one)}-${start(two)}`);
    expect(maskKeys(`/nb_live_${'x'.repeat(32)}`)).toBe('/nb_live_xxxx***');
    for (const text of ['', '/', '/nb_x', `/nb_live_${'x'.repeat(31)}`, '/NB_LIVE_']) {
      expect(maskKeys(text)).toBe(text);
    }
  });
});

describe('hashOf', () => {
  it('is the SHA-256 of the UTF-8 text in lower-case hex', () => {
    for (const text of ['', 'nb_live_x', 'ü😀', 'x'.repeat(100_000)]) {
      expect(hashOf(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
    }
  });
});

describe('keyRow', () => {
  it('keeps the hash and the first characters, and no more of the key', () => {
    const key = freshKey();
    const kept = row(key);
    expect(kept.hash).toBe(hashOf(key));
    expect(kept.prefix).toBe(key.slice(0, 12));
    expect(JSON.stringify(kept)).not.toContain(key.slice(0, 13));
  });
});

describe('KeyRing', () => {
  it('finds a key by its whole text alone', () => {
    const key = freshKey();
    const ring = new KeyRing([row(key), row(freshKey())]);
    expect(ring.find(key, now)?.hash).toBe(hashOf(key));
    for (const other of ['', key.slice(0, -1), `${key} `, key.slice(0, 12), hashOf(key)]) {
      expect(ring.find(other, now)).toBe(undefined);
    }
  });

  it('finds a key no more once it was removed, even if it was found before', () => {
    const key = freshKey();
    const mine = row(key);
    const ring = new KeyRing([mine]);
    expect(ring.find(key, now)).toEqual(mine);
    expect(ring.remove('key_of_nobody')).toBe(false);
    expect(ring.find(key, now)).toEqual(mine);
    expect(ring.remove(mine.id)).toBe(true);
    expect(ring.find(key, now)).toBe(undefined);
    expect(ring.remove(mine.id)).toBe(false);
    expect(ring.size).toBe(0);
  });

  it('finds a key until the ms in which it expires, even if it was found before', () => {
    const key = freshKey();
    const ring = new KeyRing([row(key, { expiresAt: NOW_MS })]);
    expect(ring.find(key, () => NOW_MS - 1)).not.toBe(undefined);
    expect(ring.find(key, () => NOW_MS)).toBe(undefined);
    expect(ring.find(key, () => NOW_MS - 1)).not.toBe(undefined);
  });

  it('tells when keys were last used, once each', () => {
    const [first, second] = [freshKey(), freshKey()];
    const mine = row(first);
    const uses = new KeyUses();
    const ring = new KeyRing([mine, row(second)], uses);
    ring.find(first, now);
    uses.stamp(NOW_MS);
    ring.find(first, now);
    ring.find('nb_live_wrong', now);
    uses.stamp(NOW_MS + 1);
    uses.stamp(NOW_MS + 2);
    expect([...ring.takeUses(1000)]).toEqual([[mine.id, NOW_MS + 1001]]);
    expect(ring.takeUses(1000).size).toBe(0);
    expect(ring.rows().map(({ lastUsedAt }) => lastUsedAt)).toEqual([NOW_MS + 1001, null]);
    ring.find(first, now);
    uses.stamp(NOW_MS + 3);
    expect([...ring.takeUses(0)]).toEqual([[mine.id, NOW_MS + 3]]);
  });
});

describe('isSameSecretHash', () => {
  it('holds for the same hash, and for no other', () => {
    const known = hashOf('secret');
    expect(isSameSecretHash(hashOf('secret'), known)).toBe(true);
    for (const other of ['', 'Secret', 'secret ', 'x'.repeat(10_000), 'é']) {
      expect(isSameSecretHash(hashOf(other), known)).toBe(false);
    }
  });
});
