/**
 * Changing a pool by merge: what is named changes at once, all else stays, and a change that is not
 * right changes nothing.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Caller, Door, fixed, soon } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

const read = async () => (await door.admin('GET', '/pools/a')).json;
const patch = (changes: unknown) => door.admin('PATCH', '/pools/a', changes);

/** Of every member, with dots. */
function pathsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    name,
    ...pathsOf(inner).map((path) => `${name}.${path}`),
  ]);
}

describe('PATCH /pools/{pool}', () => {
  it('changes what it names and nothing else', async () => {
    const before = await read();
    const { status, json } = await patch({ queue: { maxDepth: 7 } });
    expect(status).toBe(200);
    expect(json).toEqual({ ...before, queue: { maxDepth: 7, timeoutMs: 30_000 } });
    expect(await read()).toEqual(json);
    expect((await patch({})).json).toEqual(json);
  });

  it('resets by null: a field, and a whole group', async () => {
    await patch({ queue: { maxDepth: 7, timeoutMs: 9 }, log: { rowsMax: 5 } });
    expect((await patch({ queue: { maxDepth: null } })).json['queue'])
      .toEqual({ maxDepth: 1000, timeoutMs: 9 });
    expect((await patch({ queue: null, log: null })).json).toMatchObject({
      queue: { maxDepth: 1000, timeoutMs: 30_000 },
      log: { retentionDays: 30, rowsMax: 1_000_000 },
    });
  });

  it('replaces a list by a list', async () => {
    await patch({ access: { key: { headers: ['x-a', 'x-b'], authorization: ['Bearer'] } } });
    const { json } = await patch({ access: { key: { headers: ['X-C'] } } });
    expect(json['access']).toMatchObject({
      key: { required: true, headers: ['x-c'], authorization: ['Bearer'] },
    });
  });

  it('gives the interval anew where the term alone is changed', async () => {
    const lease = async (changes: object) => (await patch({ lease: changes })).json['lease'];
    expect(await lease({ termMs: 6000 })).toMatchObject({ termMs: 6000, renewIntervalMs: 2000 });
    expect(await lease({ renewIntervalMs: 5999 })).toMatchObject({ renewIntervalMs: 5999 });
    expect(await lease({ requestTimeoutMs: 9000 })).toMatchObject({ renewIntervalMs: 5999 });
    expect(await lease({ renewIntervalMs: null })).toMatchObject({ renewIntervalMs: 2000 });
    expect(await lease({ termMs: 9000, renewIntervalMs: 1 })).toMatchObject({ renewIntervalMs: 1 });
    expect(await lease({ termMs: null })).toMatchObject({
      termMs: 30_000,
      renewIntervalMs: 10_000,
    });
  });

  it('takes null as no bound where it is a value, and keeps it until another comes', async () => {
    const upstream = async (changes: object) =>
      (await patch({ upstream: changes })).json['upstream'];
    const url = 'http://127.0.0.1:9';
    expect(await upstream({ url })).toMatchObject({ requestTimeoutMs: 600_000 });
    expect(await upstream({ requestTimeoutMs: null })).toMatchObject({
      requestTimeoutMs: null,
      url,
    });
    expect((await read())['upstream']).toMatchObject({ requestTimeoutMs: null });
    expect(await upstream({ stallTimeoutMs: null, connectTimeoutMs: 5 })).toMatchObject({
      requestTimeoutMs: null,
      stallTimeoutMs: 60_000,
      connectTimeoutMs: 5,
    });
    expect(await upstream({ requestTimeoutMs: 5000 })).toMatchObject({ requestTimeoutMs: 5000 });
    await patch({ upstream: null });
    expect(await upstream({ url, requestTimeoutMs: null })).toMatchObject({
      requestTimeoutMs: null,
    });
    const made = await door.admin('POST', '/pools', {
      name: 'c',
      upstream: { url, requestTimeoutMs: null },
    });
    expect(made.json['upstream']).toMatchObject({ requestTimeoutMs: null });
    await patch({ upstream: null });
    expect((await patch({ upstream: { requestTimeoutMs: null } })).status).toBe(400);
  });

  it.each([
    ['an unknown field', { colour: 'red' }],
    ['an unknown field in a group', { queue: { colour: 'red' } }],
    ['null for an unknown field', { colour: null }],
    ['another name', { name: 'b' }],
    ['no name', { name: null }],
    ['a bad value', { concurrency: { limit: 0 } }],
    ['a group that is none', { concurrency: 5 }],
    ['a __proto__', JSON.parse('{"__proto__":{"limit":1}}')],
    ['a __proto__ in a group', JSON.parse('{"queue":{"__proto__":{"maxDepth":1}}}')],
    ['a __proto__ among claims', {
      access: { jwt: { secret: 's'.repeat(32), requiredClaims: JSON.parse('{"__proto__":"x"}') } },
    }],
    ['an interval that the new term does not allow', {
      lease: { termMs: 5000, renewIntervalMs: 9000 },
    }],
    ['a list', []],
    ['null', null],
    ['a text', 'x'],
    ['a rule that is not enforced', { access: { hmac: 7 } }],
  ])('refuses %s with 400, and changes nothing', async (_, changes) => {
    const before = await read();
    const { status, json } = await patch(changes);
    expect(status).toBe(400);
    expect(json['error']).toBe('invalid_request');
    expect(await read()).toEqual(before);
    expect(Object.prototype).not.toHaveProperty('limit');
  });

  it('names each unknown field that it would reset, in groups and rules too', async () => {
    const url = 'http://127.0.0.1:9';
    const access = { hmac: { secrets: ['s'.repeat(32)] } };
    const known = { upstream: { url, credentials: [{ name: 'c', header: 'x-c', value: 'v' }] } };
    expect((await patch({ ...known, access })).status).toBe(200);
    const { status, json } = await patch({
      colour: null,
      queue: { maxDepht: null, timeoutMs: null },
      rate: { hints: { resetUnits: null } },
      access: { hmac: { tolerance: null }, ip: { denied: null } },
      upstream: { stallTimeout: null },
    });
    expect(status).toBe(400);
    expect(json['message']).toBe('queue.maxDepht: is no known field');
    expect((json['issues'] as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'access.hmac.tolerance',
      'access.ip.denied',
      'colour',
      'queue.maxDepht',
      'rate.hints.resetUnits',
      'upstream.stallTimeout',
    ]);
  });

  it('takes null for every field that there is, at any depth', async () => {
    const secrets = ['s'.repeat(32)];
    const jwt = { secret: 's'.repeat(32), requiredClaims: { sub: 'a', scope: 'b' } };
    const full = { access: { hmac: { secrets }, jwt }, upstream: { url: 'http://127.0.0.1:9' } };
    expect((await patch(full)).status).toBe(200);
    const { json } = await door.admin('GET', '/pools/a');
    const spare = (path: string) => !/^name$|[.](url|secrets|secret|secretSet)$/.test(path);
    for (const path of pathsOf(json).filter(spare)) {
      const change = path.split('.').reduceRight<unknown>(
        (inner, name) => ({ [name]: inner }),
        null,
      );
      expect([path, (await patch(change)).status]).toEqual([path, 200]);
      expect((await patch(full)).status).toBe(200);
    }
  });

  it('of a pool that is not there is 404', async () => {
    expect((await door.admin('PATCH', '/pools/b', {})).status).toBe(404);
  });

  it('that raises the limit serves waiters at once; that lowers it revokes nothing', async () => {
    const slotId = await caller.hold({ slots: 2 });
    const waiting = [await caller.wait(), await caller.wait(), await caller.wait()];
    await patch(fixed(4));
    await soon(door);
    expect(waiting.map(({ answer }) => answer?.status)).toEqual([200, 200, undefined]);
    await patch(fixed(1));
    expect(caller.inUse).toBe(4);
    expect((await caller.renew(slotId)).status).toBe(200);
    const refused = await caller.acquire();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-nthpool-remaining-slots')).toBe('0');
    expect(refused.headers.get('x-nthpool-effective-limit')).toBe('1');
  });

  it('below what a waiter asks refuses it with 400 at once', async () => {
    await caller.hold({ slots: 2 });
    const wide = await caller.wait({ waitMs: 9000, slots: 2 });
    const narrow = await caller.wait({ waitMs: 9000 });
    await patch(fixed(1));
    await soon(door);
    expect(wide.answer?.status).toBe(400);
    expect(wide.answer?.json['issues']).toMatchObject([{ path: 'slots' }]);
    expect(narrow.answer).toBe(null);
  });
});
