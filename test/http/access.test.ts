/**
 * Every route against every level of access, and that no refusal tells what is behind it.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/http/routes.ts';
import { ADMIN_TOKEN } from '../support/server.ts';
import { type Answer, type Caller, Door, fixed, WRONG_KEY } from './door.ts';

let door: Door;
let caller: Caller;

beforeEach(async () => {
  door = await Door.open();
  caller = await door.pool('a', fixed(2));
});

/** A path of the route that names something which is there. */
function targetOf(path: string): string {
  return path.replace(':pool', 'a').replace(':id', 'key_1').replace(':ref', '1');
}

const levels: Record<string, () => Record<string, string>> = {
  'nothing': () => ({}),
  "the caller's key": () => ({ 'x-nthpool-key': caller.key }),
  "the caller's key as a token": () => ({ authorization: `Bearer ${caller.key}` }),
  'a wrong token': () => ({ authorization: `Bearer ${ADMIN_TOKEN.replace('9', '8')}` }),
  'a token that is too long': () => ({ authorization: `Bearer ${ADMIN_TOKEN}0` }),
  'the token and a word': () => ({ authorization: `Bearer ${ADMIN_TOKEN} x` }),
  'the token twice': () => ({ authorization: `Bearer ${ADMIN_TOKEN}, Bearer ${ADMIN_TOKEN}` }),
  'the token under Basic': () => ({ authorization: `Basic ${ADMIN_TOKEN}` }),
  'the token without a scheme': () => ({ authorization: ADMIN_TOKEN }),
  'the token in a header for keys': () => ({ 'x-nthpool-key': ADMIN_TOKEN }),
  'the scheme alone': () => ({ authorization: 'Bearer' }),
};

function expectRefusal({ status, json, headers, text }: Answer): void {
  expect(status).toBe(401);
  expect(json).toEqual({ error: 'unauthorized', message: expect.any(String) });
  expect(headers.get('www-authenticate')).toBe('Nthbouncer');
  expect([...headers.keys()].filter((name) => name.startsWith('x-nthpool'))).toEqual([]);
  expect(text).not.toContain(ADMIN_TOKEN);
}

const guarded = ROUTES.filter(({ access }) => access === 'admin');

describe('a route for administrators', () => {
  it('there is', () => {
    expect(guarded.length).toBeGreaterThan(15);
  });

  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s refuses all but the admin token, and changes nothing',
    async (_, { method, path }) => {
      const before = (await door.admin('GET', '/pools')).text;
      for (const [level, headers] of Object.entries(levels)) {
        const answer = await door.call(method, targetOf(path), { headers: headers() });
        expect(answer.status, level).toBe(401);
        expectRefusal(answer);
      }
      expect((await door.admin('GET', '/pools')).text).toBe(before);
      // Its answer has no end; desk.test.ts opens it.
      if (path === '/admin/api/events') return;
      const authorization = `bEARER ${ADMIN_TOKEN}`;
      const passed = await door.call(method, targetOf(path), { headers: { authorization } });
      expect(passed.status).not.toBe(401);
      expect(passed.status).toBeLessThan(500);
    },
  );

  it('answers the same whether its pool is there or not', async () => {
    const there = await door.call('GET', '/admin/api/pools/a');
    const missing = await door.call('GET', '/admin/api/pools/nobody');
    expect(missing.text).toBe(there.text);
    expect(missing.status).toBe(there.status);
  });
});

describe('an open route', () => {
  const open = ROUTES.filter(({ access }) => access === 'open');

  it.each(open.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s asks for nothing',
    async (_, { method, path }) => {
      for (const [level, headers] of Object.entries(levels)) {
        const { status } = await door.call(method, path, { headers: headers() });
        expect(status, level).not.toBe(401);
      }
    },
  );

  it('is a health check and nothing else', () => {
    const known = /^\/(healthz|readyz|openapi\.json|metrics|admin(\/(?!api)[^:]*)?)$/;
    expect(open.map(({ path }) => path).filter((path) => !known.test(path))).toEqual([]);
  });
});

describe('a lock route', () => {
  const paths = ['acquire', 'abcdefghijklmnopqrstuv/renew', 'abcdefghijklmnopqrstuv/release'];
  const wrong: Record<string, HeadersInit> = {
    'nothing': {},
    'a wrong key': { 'x-nthpool-key': WRONG_KEY },
    'the admin token': { authorization: `Bearer ${ADMIN_TOKEN}` },
    'the admin token as a key': { 'x-nthpool-key': ADMIN_TOKEN },
  };

  it.each(paths)(
    '%s refuses alike a wrong key and an unknown pool, before any body',
    async (path) => {
      for (const headers of Object.values(wrong)) {
        for (const body of [undefined, '{', 'x'.repeat(70_000)]) {
          const call = { headers, ...(body === undefined ? {} : { body }) };
          const known = await door.call('POST', `/pools/a/lock/${path}`, call);
          const unknown = await door.call('POST', `/pools/nobody/lock/${path}`, call);
          expectRefusal(known);
          expect(unknown.text).toBe(known.text);
          expect([...unknown.headers]).toEqual([...known.headers]);
        }
      }
      expect(caller.inUse).toBe(0);
    },
  );

  it("refuses another pool's key, and leaves its slot alone", async () => {
    const other = await door.pool('b', fixed(2));
    const slotId = await caller.hold();
    const headers = { 'x-nthpool-key': other.key };
    for (const path of ['acquire', `${slotId}/renew`, `${slotId}/release`]) {
      expectRefusal(await door.call('POST', `/pools/a/lock/${path}`, { headers }));
    }
    expect(caller.inUse).toBe(1);
    expect((await other.renew(slotId)).status).toBe(404);
    expect((await other.release(slotId)).text).toBe('{"released":false}');
    expect((await caller.renew(slotId)).status).toBe(200);
  });

  it('does not take a key from the query', async () => {
    for (const name of ['key', 'access_token', 'x-nthpool-key']) {
      const target = `/pools/a/lock/acquire?${name}=${caller.key}`;
      expectRefusal(await door.call('POST', target));
    }
  });

  it('notes in the log who was refused, by no part of the key', async () => {
    await caller.acquire(undefined, { headers: { 'x-nthpool-key': WRONG_KEY } });
    await door.clock.pass(300);
    const { text, json } = await door.admin('GET', '/pools/a/log');
    expect(json['entries']).toMatchObject([{ outcome: 'unauthorized', status: 401, keyId: null }]);
    expect(text).not.toContain(WRONG_KEY.slice(0, 20));
    expect((await door.admin('GET', '/pools/nobody/log')).status).toBe(404);
  });
});
