/**
 * Slot ids: unguessable, URL-safe, and no two alike.
 */
import { describe, expect, it } from 'vitest';
import { slotIds } from '../../src/scheduler/slot_id.ts';

describe('slotIds', () => {
  it('makes 144 bits in 24 URL-safe characters, none twice', () => {
    const mint = slotIds();
    const ids = Array.from({ length: 2000 }, () => mint());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[A-Za-z0-9_-]{24}$/.test(id))).toEqual([]);
    expect(new Set(ids.flatMap((id) => [...id])).size).toBe(64);
  });

  it('takes every byte from its source, once', () => {
    let next = 0;
    const mint = slotIds((bytes) => bytes.forEach((_, at) => bytes[at] = next++ % 256));
    const bytes = Array.from({ length: 300 }, () => mint())
      .flatMap((id) => [...Buffer.from(id, 'base64url')]);
    expect(bytes.every((byte, at) => byte === at % 256)).toBe(true);
  });
});
