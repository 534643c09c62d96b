/**
 * Keys, slots, waiters and the access log as administrators see them, and the health checks.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { hashOf, keyRow } from '../../src/access/keys.ts';
import { CEILINGS } from '../../src/ceilings.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { type Caller, Door, fixed, pass, soon, WRONG_KEY } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

async function makeKey(more: object = {}): Promise<Record<string, unknown>> {
  return (await door.admin('POST', '/pools/a/keys', { name: 'second', ...more })).json;
}

const statusOf = async (key: unknown) => {
  const headers = { 'x-nthpool-key': String(key) };
  const { status, json } = await caller.acquire(undefined, { headers });
  if (status === 200) await caller.release(String(json['slotId']));
  return status;
};

describe('keys', () => {
  it('are shown once, at their making; the list has no secret', async () => {
    const made = await makeKey();
    expect(made).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'second',
      key: expect.stringMatching(/^nb_live_[0-9A-Za-z]{32,}$/),
      prefix: String(made['key']).slice(0, 12),
      createdAt: door.clock.nowMs(),
      expiresAt: null,
    });
    const { json, text } = await door.admin('GET', '/pools/a/keys');
    expect(text).not.toContain(String(made['key']).slice(0, 20));
    expect(text).not.toContain(hashOf(String(made['key'])));
    const { key: _, ...shown } = made;
    expect(json['keys']).toMatchObject([{ name: 'test' }, { ...shown, lastUsedAt: null }]);
  });

  it('say when they were last used', async () => {
    const { key } = await makeKey();
    await caller.acquire(undefined, { headers: { 'x-nthpool-key': String(key) } });
    const lastUsedAt = door.clock.nowMs();
    await pass(door, 3000);
    await door.server.directory.saveUses();
    const { json } = await door.admin('GET', '/pools/a/keys');
    expect(json).toMatchObject({ keys: [{ lastUsedAt: null }, { lastUsedAt }] });
  });

  it('are revoked at once, waiters included; the others go on', async () => {
    const { id, key } = await makeKey();
    await caller.hold({ slots: 2 });
    const headers = { 'x-nthpool-key': String(key) };
    const told = await caller.wait({ waitMs: 9000 }, { headers });
    expect((await door.admin('DELETE', `/pools/a/keys/${id}`)).status).toBe(204);
    await soon(door);
    expect(told.answer?.status).toBe(401);
    expect(caller.queued).toBe(0);
    expect(await statusOf(key)).toBe(401);
    expect(await statusOf(caller.key)).toBe(429);
    expect((await door.admin('DELETE', `/pools/a/keys/${id}`)).status).toBe(404);
  });

  it('of another pool are not revoked from here', async () => {
    const { id, key } = await makeKey();
    await door.pool('b');
    expect((await door.admin('DELETE', `/pools/b/keys/${id}`)).status).toBe(404);
    expect(await statusOf(key)).toBe(200);
  });

  it('expire at their instant', async () => {
    const { key } = await makeKey({ expiresAt: door.clock.nowMs() + 5000 });
    await pass(door, 4999);
    expect(await statusOf(key)).toBe(200);
    await pass(door, 1);
    expect(await statusOf(key)).toBe(401);
  });

  it.each([
    {},
    { name: '' },
    { name: 'a\nb' },
    { name: '\u001b[31mred' },
    { name: 'x'.repeat(129) },
    { name: 7 },
    { name: 'k', expiresAt: -1 },
    { name: 'k', expiresAt: 0 },
    { name: 'k', expiresAt: 1.5 },
    { name: 'k', expiresAt: 'soon' },
    { name: 'k', key: WRONG_KEY },
    { name: 'k', hash: hashOf(WRONG_KEY) },
  ])('refuse to be made of %j', async (body) => {
    expect((await door.admin('POST', '/pools/a/keys', body)).status).toBe(400);
    expect((await door.admin('GET', '/pools/a/keys')).json['keys']).toHaveLength(1);
  });

  it('are at most so many a pool', async () => {
    const entry = door.server.directory.get('a');
    const facts = { pool: 'a', name: 'k', createdAt: 0, expiresAt: null, lastUsedAt: null };
    const rows = Array.from({ length: CEILINGS.keysOfPool - 1 }, (_, i) => {
      return keyRow(String(i), { ...facts, id: `key_${i}` });
    });
    if (entry !== undefined) await door.server.directory.addKeys(entry, rows);
    const { status, json } = await door.admin('POST', '/pools/a/keys', { name: 'k' });
    expect(status).toBe(400);
    expect(json['message']).toContain(String(CEILINGS.keysOfPool));
    await door.admin('DELETE', '/pools/a/keys/key_5');
    expect((await door.admin('POST', '/pools/a/keys', { name: 'k' })).status).toBe(201);
  });
});

describe('slots', () => {
  it('show who holds what, never the slotId, and can be taken back', async () => {
    const slotId = await caller.hold({ holder: '<img src=x onerror=alert(1)>', slots: 2 });
    await pass(door, 1500);
    await caller.renew(slotId);
    const { json, text } = await door.admin('GET', '/pools/a/slots');
    expect(text).not.toContain(slotId);
    const [slot] = json['slots'] as Record<string, unknown>[];
    expect(slot).toMatchObject({
      kind: 'lock',
      slots: 2,
      holder: '<img src=x onerror=alert(1)>',
      keyId: expect.stringMatching(/^key_/),
      ageMs: 1500,
      renewals: 1,
      leaseDeadline: door.clock.nowMs() + 30_000,
    });
    const told = await caller.wait();
    expect((await door.admin('DELETE', `/pools/a/slots/${slot?.['ref']}`)).status).toBe(204);
    await soon(door);
    expect(told.answer?.status).toBe(200);
    expect((await caller.renew(slotId)).status).toBe(404);
    expect((await caller.release(slotId)).text).toBe('{"released":false}');
    const again = await door.admin('DELETE', `/pools/a/slots/${slot?.['ref']}`);
    expect(again.status).toBe(404);
    expect(caller.inUse).toBe(1);
  });

  it('are not taken back by their slotId', async () => {
    const slotId = await caller.hold();
    expect((await door.admin('DELETE', `/pools/a/slots/${slotId}`)).status).toBe(404);
    expect(caller.inUse).toBe(1);
  });
});

describe('waiters and status', () => {
  it('show who waits, since when and for what', async () => {
    await caller.hold({ slots: 2 });
    const since = door.clock.nowMs();
    await caller.wait({ waitMs: 9000, slots: 2, tokens: 7, holder: 'w1' });
    await pass(door, 400);
    const { json } = await door.admin('GET', '/pools/a/waiters');
    expect(json['waiters']).toMatchObject([{
      kind: 'lock',
      slots: 2,
      tokens: 7,
      holder: 'w1',
      since,
      waitedMs: 400,
      until: since + 9000,
    }]);
    expect((await door.admin('GET', '/pools/a/status')).json).toMatchObject({
      effectiveLimit: 2,
      inUse: 2,
      remaining: 0,
      queued: 1,
      oldestWaitMs: 400,
      oldestHeldMs: 400,
    });
  });
});

interface Page {
  readonly entries: { readonly id: string; readonly outcome: string; readonly at: number }[];
  readonly nextCursor: string | null;
}

describe('the access log', () => {
  const page = async (query: string) =>
    (await door.admin('GET', `/pools/a/log?${query}`)).json as unknown as Page;

  it('is paged newest first, each entry once', async () => {
    const ids: (string | null)[] = [];
    for (let i = 0; i < 10; i++) {
      ids.unshift((await caller.acquire()).headers.get('x-nthpool-request-id'));
      await pass(door, 10);
    }
    const seen: string[] = [];
    let cursor = '';
    for (let pages = 0; pages < 9; pages++) {
      const { entries, nextCursor } = await page(`limit=3${cursor}`);
      expect(entries.length).toBeLessThanOrEqual(3);
      seen.push(...entries.map(({ id }) => id));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(seen).toEqual(ids);
  });

  it('is narrowed by outcome and time', async () => {
    await caller.hold({ slots: 2 });
    await pass(door, 1000);
    const at = door.clock.nowMs();
    await caller.acquire();
    const refused = await page('outcome=too_many_requests');
    expect(refused.entries.map(({ outcome }) => outcome)).toEqual(['too_many_requests']);
    expect((await page(`since=${at}`)).entries).toHaveLength(1);
    expect((await page(`until=${at - 1}`)).entries).toHaveLength(1);
    expect((await page(`since=${at + 1}`)).entries).toEqual([]);
    expect((await page('outcome=')).entries).toHaveLength(2);
    const { json } = await door.admin('GET', '/pools/a/log?outcome=nothing');
    expect(json['message']).toMatch(
      /^outcome: must be one of granted, client_gone, invalid_request/,
    );
  });

  it('is narrowed by key, over all of it and not one page of it', async () => {
    await caller.acquire();
    const [{ keyId = '' } = {}] = (await page('limit=1')).entries as { keyId?: string }[];
    const headers = { 'x-nthpool-key': WRONG_KEY };
    for (let i = 0; i < 5; i++) await caller.acquire({}, { headers });
    expect((await page(`limit=2&keyId=${keyId}`)).entries).toHaveLength(1);
    expect((await page(`limit=2&keyId=${keyId.slice(1)}`)).entries).toEqual([]);
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=-1',
    'limit=',
    'cursor=x',
    'cursor=-1',
    'since=x',
    'until=1e3',
    `cursor=${'9'.repeat(65)}`,
    'outcome=granted,full',
  ])('refuses %s', async (query) => {
    expect((await door.admin('GET', `/pools/a/log?${query}`)).status).toBe(400);
  });

  it('has no row of renewals and releases, nor a slotId or a key', async () => {
    const slotId = await caller.hold();
    await caller.renew(slotId);
    await caller.release(slotId);
    await pass(door, 300);
    const { text, json } = await door.admin('GET', '/pools/a/log');
    expect(json['entries']).toHaveLength(1);
    expect(text).not.toContain(slotId);
    expect(text).not.toContain(caller.key);
  });

  it('has a bounded number of rows for a flood of refusals, and their true number', async () => {
    await caller.hold({ slots: 2 });
    for (let i = 0; i < 250; i++) await caller.acquire();
    await pass(door, 2000);
    const { entries } = await page('limit=1000&outcome=too_many_requests');
    expect(entries).toHaveLength(101);
    expect(entries[0]).toMatchObject({ count: 150 });
  });
});

describe('the health checks', () => {
  it('ask the store once a second at the most', async () => {
    let probes = 0;
    let isSound = true;
    const store = new MemoryStore();
    store.probe = () => {
      probes++;
      return isSound ? Promise.resolve() : Promise.reject(new Error('no'));
    };
    door = await Door.open({ store });
    for (let i = 0; i < 50; i++) expect((await door.call('GET', '/readyz')).status).toBe(200);
    expect(probes).toBe(1);
    isSound = false;
    await pass(door, 999);
    expect((await door.call('GET', '/readyz')).status).toBe(200);
    await pass(door, 1);
    const { status, json } = await door.call('GET', '/readyz');
    expect([status, json['error']]).toEqual([503, 'storage_unavailable']);
    expect((await door.call('GET', '/healthz')).status).toBe(200);
    isSound = true;
    await pass(door, 1000);
    expect((await door.call('GET', '/readyz')).status).toBe(200);
    expect(probes).toBe(3);
  });

  it('answer HEAD without a body', async () => {
    expect(await door.call('HEAD', '/healthz')).toMatchObject({ status: 200, text: '' });
  });
});
