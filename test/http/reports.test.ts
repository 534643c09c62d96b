/**
 * Bodies of every shape on release and the administration: an error changes nothing, and a report
 * that makes no sense teaches nothing.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { empty, fine, padded, wrong } from './bodies.ts';
import { type Caller, Door, fixed } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

const TOO_MUCH = padded(65_537);

describe('release', () => {
  it.each(Object.entries({ ...empty, ...fine }))('takes %s as a plain success', async (_, body) => {
    const slotId = await caller.hold();
    expect((await caller.release(slotId, body)).text).toBe('{"released":true}');
    expect(caller.inUse).toBe(0);
  });

  it.each(Object.entries({ ...wrong, 'too much': TOO_MUCH }))(
    'refuses %s, and the slot stays held',
    async (_, body) => {
      const slotId = await caller.hold();
      const { status } = await caller.release(slotId, body);
      expect(status).toBe(body === TOO_MUCH ? 413 : 400);
      expect(caller.inUse).toBe(1);
      expect((await caller.release(slotId)).text).toBe('{"released":true}');
    },
  );

  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}`, 'x']));

  it.each([
    ['status', [99, 600, 200.5, '200', true]],
    ['throttled', [-1, 1.5, '1', {}, true, false]],
    ['retryAfterMs', [-1, '5', {}]],
    ['rate', [7, 'x', [], { limit: -2 }, { resetMs: -1 }, { remaining: '5' }]],
    ['headers', [7, ['a'], { a: 7 }, { a: [7] }, { a: 'x'.repeat(8193) }, many(65)]],
    ['tokens', [-1, 0.5, '7']],
  ])('refuses every bad %s, names it, and the slot stays held', async (field, values) => {
    const slotId = await caller.hold();
    for (const value of values) {
      const { status, json } = await caller.release(slotId, { [field]: value });
      expect(status, JSON.stringify(value)).toBe(400);
      const [issue] = json['issues'] as { path: string }[];
      expect(issue?.path.split('.')[0]).toBe(field);
    }
    expect(caller.inUse).toBe(1);
  });

  it.each([
    { status: 100 },
    { status: 599 },
    { throttled: 1, status: 429 },
    { throttled: 3, retryAfterMs: 0.5 },
    { rate: { limit: 0, remaining: 0, resetMs: 1.5, unknown: 1 } },
    { rate: { limit: -1, remaining: -1, resetMs: 0, tokenLimit: -1, tokenRemaining: -1 } },
    { rate: null, headers: null, tokens: null, status: null },
    { headers: { 'Retry-After': ['1', '2'], 'RETRY-AFTER': '3' } },
    { headers: many(64) },
    ...['soon', '', '-5', 'NaN', '1e9', '120, 60', ' 30 ', '9'.repeat(400)].map((value) => ({
      status: 429,
      headers: { 'retry-after': value },
    })),
  ])('takes the report %j', async (report) => {
    const slotId = await caller.hold();
    expect((await caller.release(slotId, report)).text).toBe('{"released":true}');
    expect(caller.inUse).toBe(0);
    expect(door.broken).toEqual([]);
    const { status, json } = await door.admin('GET', '/pools/a/status');
    expect(status).toBe(200);
    const pausedUntil = json['pausedUntil'];
    if (pausedUntil !== null) expect(pausedUntil).toBeLessThan(door.clock.nowMs() + 400_000);
  });

  it('takes headers named as the members of every object', async () => {
    const slotId = await caller.hold();
    const body = '{"headers":{"__proto__":"x","constructor":"y","toString":["z"]}}';
    expect((await caller.release(slotId, body)).status).toBe(200);
  });
});

describe('a rate beyond what headers can say', () => {
  const DAYS_400_MS = 400 * 86_400_000;

  it.each([
    { remaining: 0, resetMs: 1e300 },
    { limit: 1, remaining: 0, resetMs: DAYS_400_MS + 1, tokenRemaining: 0, tokenResetMs: 1e300 },
    { limit: 1e300, remaining: 1e300, resetMs: 1 },
    { limit: 2, remaining: 1e300, resetMs: 60_000, windowMs: 1e300 },
  ])('of %j leaves the gate open, and the pool says no absurd rate', async (rate) => {
    await caller.release(await caller.hold(), { status: 200, rate });
    const { status, headers } = await caller.acquire({ tokens: 1 });
    expect(status).toBe(200);
    expect(headers.get('x-nthpool-rpm-limit')).toBeNull();
    const { json } = await door.admin('GET', '/pools/a/status');
    expect(json).toMatchObject({ rpm: null, gate: null });
  });

  it('is one of -1, which tells nothing: the rest of the report stands', async () => {
    const counts = { limit: 60, remaining: -1, tokenLimit: -1, tokenRemaining: 0 };
    const rate = { ...counts, resetMs: 30_000, tokenResetMs: 30_000 };
    await caller.release(await caller.hold(), { status: 200, rate });
    expect((await caller.acquire({ tokens: 1 })).status).toBe(429);
    expect((await caller.acquire()).status).toBe(200);
    expect((await door.admin('GET', '/pools/a/status')).json).toMatchObject({ rpm: null });
  });

  it('is dropped alone: the rest of the report stands', async () => {
    const rate = { limit: 60, remaining: 0, resetMs: 30_000, windowMs: 1e300, tokenLimit: 1e300 };
    await caller.release(await caller.hold(), { status: 200, rate });
    const { status, headers } = await caller.acquire();
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('31');
    expect(headers.get('x-nthpool-rpm-limit')).toBe('120');
  });

  it('may shut a pool for 400 days, and says so in whole seconds', async () => {
    const rate = { remaining: 0, resetMs: DAYS_400_MS };
    await caller.release(await caller.hold(), { status: 200, rate });
    const { headers } = await caller.acquire();
    expect(headers.get('retry-after')).toBe(String(DAYS_400_MS / 1000 + 1));
  });
});

describe('the administration', () => {
  it.each(Object.entries({ ...wrong, ...empty }))('refuses %s for a pool', async (_, body) => {
    for (const [method, path] of [['POST', '/pools'], ['PATCH', '/pools/a']] as const) {
      const authorization = `Bearer admin-token-of-the-tests-0123456789`;
      const { status, json } = await door.call(method, `/admin/api${path}`, {
        headers: { authorization },
        body,
      });
      expect(status, method).toBe(400);
      expect(json['error']).toBe('invalid_request');
    }
    expect((await door.admin('GET', '/pools')).json['pools']).toHaveLength(1);
  });

  it.each(['PATCH', 'POST'])(
    'refuses by %s objects that are nested without end',
    async (method) => {
      const nested = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000);
      const path = method === 'POST' ? '/pools' : '/pools/a';
      const { status } = await door.admin(method, path, nested);
      expect(status).toBe(400);
    },
  );
});
