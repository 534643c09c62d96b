/**
 * The body of a signed call: how much of it is read, what is told where it cannot be, and what a
 * policy has read is there for the door.
 */
import { describe, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../src/http/body.ts';
import { HMAC_ALONE, SECRET, World } from './support.ts';

describe('the body of a signed call', () => {
  test('is read up to bodyBytesMax; beyond it nothing can be checked', async () => {
    const world = await World.with({
      ...HMAC_ALONE,
      hmac: { secrets: [SECRET], bodyBytesMax: 20 },
    });
    const short = '{"waitMs":1}';
    expect(await world.status({ body: short, headers: world.signed({ body: short }) })).toBe(200);
    const long = '{"waitMs":1          }';
    expect(await world.status({ body: long, headers: world.signed({ body: long }) })).toBe(401);
    expect(await world.reason()).toBe('hmac: body too large');
  });

  test('over 64 KiB: 413 for a right signature, 401 for a wrong one', async () => {
    const world = await World.with(HMAC_ALONE);
    const body = ' '.repeat(65 * 1024);
    expect(await world.status({ body, headers: world.signed({ body }) })).toBe(413);
    expect(await world.status({ body, headers: world.signed({ body: '' }) })).toBe(401);
  });

  test('that finds no room beside other large ones is told 503 on the proxy door', async () => {
    const world = await World.with(HMAC_ALONE);
    const body = ' '.repeat(65 * 1024);
    const ask = { host: 'p.localhost:8787', body, headers: world.signed({ body, door: 'proxy' }) };
    const room = vi.spyOn(ByteBudget.prototype, 'take').mockReturnValue(false);
    try {
      const answer = await world.ask(ask);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.headers.get('x-nthpool-error')).toBe('overloaded');
      expect(await answer.json()).toMatchObject({ error: 'overloaded' });
      expect(await world.reason()).toBe('hmac: too many large bodies');
      // The lock door takes no such body at any time, and tells nobody that there is the pool.
      expect(await world.status({ body, headers: world.signed({ body }) })).toBe(401);
      expect(await world.status({ ...ask, host: 'q.localhost:8787' })).toBe(401);
    } finally {
      room.mockRestore();
    }
    // The nonce was not burnt; this pool has no upstream.
    expect(await world.status(ask)).toBe(501);
  });

  test('of a signed release is its report', async () => {
    const world = await World.with(HMAC_ALONE);
    const acquired = await world.ask({ headers: world.signed() });
    const path = `${(await acquired.json()).slotId}/release`;
    const body = '{"status":200}';
    const answer = await world.ask({ path, body, headers: world.signed({ path, body }) });
    expect(await answer.json()).toEqual({ released: true });
  });
});
