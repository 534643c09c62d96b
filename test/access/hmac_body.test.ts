/**
 * The body of a signed call: how much of it is read, what is told where it cannot be, and what a
 * policy has read is there for the door.
 */
import { describe, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../src/http1/byte_budget.ts';
import { HMAC_ALONE, SECRET, World } from './support.ts';

describe('the body of a signed call', () => {
  test('is read up to bodyBytesMax on the proxy door, and told 413 beyond it', async () => {
    const world = await World.with({
      ...HMAC_ALONE,
      hmac: { secrets: [SECRET], bodyBytesMax: 20 },
    });
    const door = 'proxy';
    const status = (body: string) => {
      const headers = world.signed({ body, door });
      return world.status({ host: 'p.localhost:8787', body, headers });
    };
    // This pool has no upstream.
    expect(await status('x'.repeat(20))).toBe(501);
    expect(await status('x'.repeat(21))).toBe(413);
    expect(await world.reason()).toBe('hmac: body too large');
  });

  test('has the ceiling of every lock body there, whatever bodyBytesMax is', async () => {
    const world = await World.with({
      ...HMAC_ALONE,
      hmac: { secrets: [SECRET], bodyBytesMax: 10 },
    });
    const status = (body: string) => world.status({ body, headers: world.signed({ body }) });
    expect(await status('{"waitMs":1}')).toBe(200);
    expect(await status(' '.repeat(65_536))).toBe(200);
    expect(await status(' '.repeat(70_000))).toBe(413);
    const body = ' '.repeat(70_000);
    expect(await world.status({ body, headers: world.signed() })).toBe(401);
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
