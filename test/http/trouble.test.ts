/**
 * What callers are told by a server that drains, whose store fails, or that is itself at fault: the
 * right refusal, no slot held for it, and nothing of the inside.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreError } from '../../src/store/store.ts';
import { TestStore } from '../support/test_store.ts';
import { type Answer, type Caller, Door, fixed, pass, soon } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

describe('a server that drains', () => {
  it('refuses acquires and waiters with 503, and takes renewals and releases', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const told = await caller.wait();
    door.server.scheduler.drain();
    await soon(door);
    for (const answer of [told.answer as Answer, await caller.acquire()]) {
      expect(answer.status).toBe(503);
      expect(answer.json['error']).toBe('shutting_down');
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.headers.get('x-nthpool-request-id')).not.toBe(null);
    }
    expect((await caller.renew(slotId)).status).toBe(200);
    expect((await caller.release(slotId)).text).toBe('{"released":true}');
    expect((await door.call('GET', '/readyz')).status).toBe(503);
    expect(caller.inUse).toBe(0);
  });
});

describe('a store that fails', () => {
  it('refuses grants with 503 and holds no slot; renew and release go on', async () => {
    const store = new TestStore();
    door = await Door.open({ store });
    caller = await door.pool('a', fixed(2));
    const slotId = await caller.hold();
    store.trouble = 'failed';
    for (let i = 0; i < 3; i++) {
      const { status, json, headers } = await caller.acquire();
      expect(status).toBe(503);
      expect(json['error']).toBe('storage_unavailable');
      expect(headers.get('retry-after')).toBe('1');
    }
    expect(caller.inUse).toBe(1);
    const closed = async () => (await door.admin('GET', '/pools/a/status')).json['closed'];
    expect(await closed()).toBe('storage_unavailable');
    expect((await caller.renew(slotId)).status).toBe(200);
    const told = await caller.wait({ waitMs: 1000 });
    expect((await caller.release(slotId)).text).toBe('{"released":true}');
    await pass(door, 1000);
    expect(told.answer?.status).toBe(503);
    store.trouble = null;
    await pass(door, 500);
    expect((await caller.acquire()).status).toBe(200);
    expect([caller.inUse, await closed()]).toEqual([1, null]);
  });

  it.each<[string, () => Promise<{ status: number }>]>([
    ['a new pool', () => door.admin('POST', '/pools', { name: 'b' })],
    ['a change', () => door.admin('PATCH', '/pools/a', fixed(9))],
    ['a key', () => door.admin('POST', '/pools/a/keys', { name: 'k' })],
    ['a pause', () => door.admin('POST', '/pools/a/pause', {})],
    ['a deletion', () => door.admin('DELETE', '/pools/a')],
    ['readiness', () => door.call('GET', '/readyz')],
  ])('for a moment, because of a lock, fails no request: %s', async (_, ask) => {
    const store = new TestStore();
    const probe = vi.spyOn(store, 'probe').mockImplementation(() => store.saveKeys([]));
    door = await Door.open({ store });
    caller = await door.pool('a', fixed(2));
    store.trouble = 'busy';
    const asked = ask();
    await pass(door, 400);
    store.trouble = null;
    await pass(door, 100);
    expect((await asked).status).toBeLessThan(300);
    probe.mockRestore();
  });

  it('refuses changes with 503 that tells nothing of the inside', async () => {
    const store = new TestStore();
    door = await Door.open({ store });
    caller = await door.pool('a', fixed(2));
    store.trouble = 'failed';
    for (
      const [method, path, body] of [
        ['POST', '/pools', { name: 'b' }],
        ['PATCH', '/pools/a', { concurrency: { limit: 9 } }],
        ['DELETE', '/pools/a', undefined],
        ['POST', '/pools/a/keys', { name: 'k' }],
        ['POST', '/pools/a/pause', {}],
      ] as const
    ) {
      const { status, text, json } = await door.admin(method, path, body);
      expect(status, path).toBe(503);
      expect(json['error']).toBe('storage_unavailable');
      expect(text).not.toContain('The store is failed');
    }
    store.trouble = null;
    expect((await door.admin('GET', '/pools')).json['pools']).toMatchObject([
      { name: 'a', concurrency: { limit: 2 } },
    ]);
  });
});

describe('a store that fails, and a governor', () => {
  beforeEach(async () => {
    const store = new TestStore();
    door = await Door.open({ store });
    await door.pool('a', fixed(2));
    await door.admin('PATCH', '/pools/a', fixed(3));
    await door.admin('GET', '/pools/a/governor/events');
    await door.admin('PATCH', '/pools/a', fixed(4));
    store.trouble = 'failed';
  });

  it('is told of the changes that were stored', async () => {
    const { status, json } = await door.admin('GET', '/pools/a/governor/events');
    expect(status).toBe(200);
    expect(json['events']).toMatchObject([{ what: 'limit', from: 2, to: 3 }]);
  });

  it('forgets, and says so', async () => {
    const entry = door.server.directory.get('a');
    const forgets = vi.spyOn(entry!.pool.governor, 'forget');
    const { status, json } = await door.admin('POST', '/pools/a/governor/forget');
    expect(forgets).toHaveBeenCalledOnce();
    expect(status).toBe(200);
    expect(json).toMatchObject({ limit: 4, effectiveLimit: 4 });
  });
});

describe('a fault of the server itself', () => {
  it.each([
    [500, 'internal', new Error('secret /home/x.ts:1')],
    [503, 'storage_unavailable', new StoreError('failed', 'secret')],
  ])('answers %i %s without stack, path or reason', async (wanted, code, error) => {
    const broken = await Door.open({
      change: () => ({
        describe: () => {
          throw error;
        },
      }),
    });
    const { status, text } = await broken.admin('GET', '/version');
    expect(status).toBe(wanted);
    expect(text).not.toMatch(/secret|home|\bat\b .*:\d/);
    expect(JSON.parse(text)).toEqual({ error: code, message: expect.any(String) });
  });
});
