/**
 * The administration of pools: create, read, change by merge, delete, pause, resume, drain, and the
 * ceilings and owners that hold them back.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { CEILINGS } from '../../src/ceilings.ts';
import { DirectoryFullError } from '../../src/scheduler/directory.ts';
import { AS_ADMIN } from '../support/server.ts';
import { TestStore } from '../support/test_store.ts';
import { PoolSpec } from '../../src/wire.ts';
import { type Answer, type Caller, Door, fixed, pass, soon } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

const read = async (name = 'a') => (await door.admin('GET', `/pools/${name}`)).json;

describe('POST /pools', () => {
  it('answers 201 with the pool, every default filled in', async () => {
    const { status, json } = await door.admin('POST', '/pools', { name: 'b' });
    expect(status).toBe(201);
    expect(json).toEqual(PoolSpec.parse({ name: 'b' }));
    expect(await read('b')).toEqual(json);
  });

  it('refuses a name that is taken with 409, and leaves that pool alone', async () => {
    const { status, json } = await door.admin('POST', '/pools', { name: 'a', ...fixed(9) });
    expect(status).toBe(409);
    expect(json['error']).toBe('already_exists');
    expect(await read()).toMatchObject({ concurrency: { limit: 2 } });
  });

  it('twice at once makes one pool', async () => {
    const made = await Promise.all(
      [1, 2, 3].map((limit) => door.admin('POST', '/pools', { name: 'b', ...fixed(limit) })),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  });

  it.each([
    '',
    '-a',
    'a-',
    'A',
    'a_b',
    'a.b',
    'a b',
    'ä',
    '..',
    'a/b',
    'x'.repeat(64),
    'a\n',
    7,
    null,
  ])('refuses the name %j', async (name) => {
    const { status, json } = await door.admin('POST', '/pools', { name });
    expect(status).toBe(400);
    expect(json['issues']).toMatchObject([{ path: 'name' }]);
  });

  it.each(['0', '9-9', 'a--b', 'xn--bcher-kva', '__proto__'.replaceAll('_', ''), 'x'.repeat(63)])(
    'takes the name %j',
    async (name) => expect((await door.admin('POST', '/pools', { name })).status).toBe(201),
  );

  it('names what a credential may be made of, and not what came', async () => {
    const credentials = [{ name: 'a', header: 'authorization', value: 'Bearer sk-…' }];
    const upstream = { url: 'https://api.test', credentials };
    const { status, json } = await door.admin('POST', '/pools', { name: 'b', upstream });
    expect(status).toBe(400);
    expect(json['message']).toBe(
      'upstream.credentials.0.value: must be printable ASCII or Latin-1 only',
    );
  });

  it.each([
    ['concurrency.limit', { concurrency: { limit: 0 } }],
    ['concurrency.limit', { concurrency: { limit: 1_000_001 } }],
    ['concurrency.limit', { concurrency: { limit: 1.5 } }],
    ['concurrency', { concurrency: { mode: 'adaptive', min: 5, limit: 4, max: 9 } }],
    ['concurrency', { concurrency: { mode: 'adaptive', min: 1, limit: 10, max: 9 } }],
    ['concurrency.mode', { concurrency: { mode: 'loose' } }],
    ['lease.termMs', { lease: { termMs: 999 } }],
    ['lease.termMs', { lease: { termMs: 3_600_001 } }],
    ['lease.requestTimeoutMs', { lease: { requestTimeoutMs: 86_400_001 } }],
    ['lease.renewIntervalMs', { lease: { termMs: 5000, renewIntervalMs: 5000 } }],
    ['queue.timeoutMs', { queue: { timeoutMs: 3_600_001 } }],
    ['queue.maxDepth', { queue: { maxDepth: 100_001 } }],
    ['queue.maxDepth', { queue: { maxDepth: -1 } }],
    ['colour', { colour: 'red' }],
    ['concurrency.limits', { concurrency: { limits: 3 } }],
    ['lease', { lease: null }],
    ['__proto__', JSON.parse('{"__proto__": {"access": {}}}')],
  ])('refuses a bad %s', async (path, settings) => {
    const { status, json } = await door.admin('POST', '/pools', { name: 'b', ...settings });
    expect(status).toBe(400);
    const [issue] = json['issues'] as { path: string; reason: string }[];
    expect(issue?.path).toBe(path);
    expect((await door.admin('GET', '/pools/b')).status).toBe(404);
  });

  it('makes no more pools than a server may have', async () => {
    const { directory } = door.server;
    const full = await Door.open({
      change: () => ({
        directory: Object.assign(Object.create(directory), {
          get: () => undefined,
          put: () => Promise.reject(new DirectoryFullError('A server holds at most 10000 pools.')),
          inTurn: <T>(change: () => Promise<T>) => change(),
        }),
      }),
    });
    const { status, json } = await full.admin('POST', '/pools', { name: 'b' });
    expect(status).toBe(400);
    expect(json['message']).toContain(String(CEILINGS.pools));
  });
});

describe('DELETE /pools/{pool}', () => {
  it('refuses waiters as if the pool had never been, and ends leases and keys', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const told = await caller.wait();
    const { status, text } = await door.admin('DELETE', '/pools/a');
    expect([status, text]).toEqual([204, '']);
    await soon(door);
    const answer = told.answer as Answer;
    expect(answer.status).toBe(401);
    expect(answer.headers.has('x-nthpool-request-id')).toBe(false);
    expect((await caller.renew(slotId)).status).toBe(401);
    const again = await door.pool('a', fixed(2));
    expect(again.inUse).toBe(0);
    expect((await caller.acquire()).status).toBe(401);
    expect((await again.acquire()).status).toBe(200);
    expect((await door.admin('DELETE', '/pools/b')).status).toBe(404);
  });

  it('and a new pool of the name give a higher fence than before', async () => {
    const before = Number((await caller.acquire()).json['fence']);
    await door.admin('DELETE', '/pools/a');
    const again = await door.pool('a', fixed(2));
    expect((await again.acquire()).json['fence']).toBeGreaterThan(before);
  });
});

describe('a pool that a configuration file owns', () => {
  it('refuses every change but pause and resume with 409', async () => {
    const { directory } = door.server;
    await directory.put(PoolSpec.parse({ name: 'filed' }), true);
    const refused = [
      await door.admin('PATCH', '/pools/filed', { concurrency: { limit: 3 } }),
      await door.admin('DELETE', '/pools/filed'),
      await door.admin('POST', '/pools/filed/keys', { name: 'k' }),
      await door.admin('DELETE', '/pools/filed/keys/key_1'),
    ];
    for (const { status, json } of refused) {
      expect(status).toBe(409);
      expect(json['error']).toBe('managed_by_config');
    }
    expect(await read('filed')).toEqual(PoolSpec.parse({ name: 'filed' }));
    expect((await door.admin('POST', '/pools/filed/pause', {})).status).toBe(200);
    expect((await door.admin('POST', '/pools/filed/resume')).status).toBe(200);
    expect(directory.get('filed')?.isManaged).toBe(true);
  });
});

describe('pause, resume and drain', () => {
  it('pause refuses who will not wait, keeps who does, and resume serves them', async () => {
    const slotId = await caller.hold();
    expect((await door.admin('POST', '/pools/a/pause', { reason: 'quota' })).status).toBe(200);
    const refused = await caller.acquire();
    expect(refused.status).toBe(429);
    expect(refused.json).toMatchObject({ reason: 'paused', retryAfterMs: expect.any(Number) });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    const told = await caller.wait();
    await pass(door, 1000);
    expect(told.answer).toBe(null);
    expect((await caller.renew(slotId)).status).toBe(200);
    expect((await door.admin('POST', '/pools/a/resume')).status).toBe(200);
    await soon(door);
    expect(told.answer?.status).toBe(200);
  });

  it('pause until an instant says the true time, and ends by itself', async () => {
    const untilMs = door.clock.nowMs() + 4500;
    await door.admin('POST', '/pools/a/pause', { untilMs });
    const refused = await caller.acquire();
    expect(refused.json['retryAfterMs']).toBe(4500);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await caller.acquire({ waitMs: 4000 })).json['reason']).toBe('paused');
    const told = await caller.wait({ waitMs: 6000 });
    const status = (await door.admin('GET', '/pools/a/status')).json;
    expect(status).toMatchObject({ paused: true, pausedUntil: untilMs, queued: 1 });
    await pass(door, 4499);
    expect(told.answer).toBe(null);
    await pass(door, 2);
    expect(told.answer?.status).toBe(200);
  });

  it('a pause that ends before another gate opens is not told as what holds', async () => {
    await caller.release(await caller.hold(), { status: 429, retryAfterMs: 60_000 });
    await door.admin('POST', '/pools/a/pause', { untilMs: door.clock.nowMs() + 5000 });
    const refused = await caller.acquire();
    const status = (await door.admin('GET', '/pools/a/status')).json;
    const opensAt = door.clock.nowMs() + Number(refused.json['retryAfterMs']);
    expect(status).toMatchObject({
      source: 'header',
      reason: expect.stringMatching(/^paused: the upstream asked to hold back for/),
      pausedUntil: opensAt,
      nextChangeAt: opensAt,
      gate: { until: opensAt },
    });
    await door.admin('POST', '/pools/a/pause', { untilMs: door.clock.nowMs() + 500_000 });
    expect((await door.admin('GET', '/pools/a/status')).json).toMatchObject({
      source: 'operator',
      pausedUntil: door.clock.nowMs() + 500_000,
      nextChangeAt: door.clock.nowMs() + 500_000,
    });
  });

  it.each([
    { untilMs: 1 },
    { untilMs: -1 },
    { untilMs: 'x' },
    { untilMs: 8_640_000_000_000_001 },
    { until: 5 },
    { reason: 'a\nb' },
    [],
  ])(
    'pause refuses %j',
    async (body) => {
      expect((await door.admin('POST', '/pools/a/pause', body)).status).toBe(400);
      expect((await caller.acquire()).status).toBe(200);
    },
  );

  it('drain keeps what a change before it set, and brings no deleted pool back', async () => {
    const store = new TestStore();
    door = await Door.open({ store });
    await door.pool('a', fixed(2));
    await door.pool('b', fixed(2));
    store.hold();
    const headers = { authorization: 'Bearer admin-token-of-the-tests-0123456789' };
    const send = (method: string, path: string, body?: string) =>
      door.send(method, `/admin/api/pools/${path}`, {
        headers,
        ...(body === undefined ? {} : { body }),
      });
    const asked = [send('PATCH', 'a', JSON.stringify(fixed(8))), send('DELETE', 'b')];
    await pass(door, 0);
    asked.push(send('POST', 'a/drain'), send('POST', 'b/drain'));
    await pass(door, 0);
    store.letGo();
    const answers = await door.settled(Promise.all(asked));
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 200, 404]);
    expect(JSON.parse(store.pools.get('a')?.settings ?? '').concurrency.limit).toBe(8);
    expect([...store.pools.keys()]).toEqual(['a']);
  });

  const drain = () => door.send('POST', '/admin/api/pools/a/drain', { headers: AS_ADMIN });

  it('drain answers once nothing is in use, and grants nothing meanwhile', async () => {
    const slotId = await caller.hold();
    let drained: Answer | null = null;
    void drain().then((answer) => drained = answer);
    await pass(door, 1000);
    expect(drained).toBe(null);
    expect((await caller.acquire()).json['reason']).toBe('paused');
    await caller.release(slotId);
    await soon(door);
    expect((drained as Answer | null)?.json).toEqual({ drained: true });
    expect((await caller.acquire()).status).toBe(429);
    await door.admin('POST', '/pools/a/resume');
    expect((await caller.acquire()).status).toBe(200);
  });

  it('drain says so where the pool is resumed before it is empty', async () => {
    await caller.hold();
    const drained = drain();
    await pass(door, 100);
    await door.admin('POST', '/pools/a/resume');
    expect((await door.settled(drained)).json).toEqual({ drained: false });
    expect(caller.inUse).toBe(1);
  });

  it('drain of a pool that is deleted meanwhile ends', async () => {
    await caller.hold();
    let status = 0;
    void drain().then((answer) => status = answer.status);
    await pass(door, 100);
    await door.admin('DELETE', '/pools/a');
    await soon(door);
    expect(status).toBe(200);
  });
});
