/**
 * Paths and hosts as they are sent, odd spellings too: what decides the access reads the same path
 * as what answers, so no spelling gets a caller further than its key does.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/http/routes.ts';
import { Hosts } from '../../src/http/hosts.ts';
import { ADMIN_TOKEN } from '../support/server.ts';
import { type Caller, Door, fixed } from './door.ts';

let door: Door;
let first: Caller;
let second: Caller;

beforeEach(async () => {
  door = await Door.open();
  first = await door.pool('p1', fixed(3));
  second = await door.pool('p2', fixed(3));
});

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

describe('an odd spelling of a lock path', () => {
  const odd = [
    '/%70ools/p1/lock/acquire',
    '/pools/%701/lock/acquire',
    '/pools/p1/%6cock/acquire',
    '/pools/p1/lock/%61cquire',
    '/pools/p1/lock/acquire%2f',
    '/pools/p1%2flock/acquire',
    '/pools/p1/lock%2facquire',
    '//pools/p1/lock/acquire',
    '/pools//p1/lock/acquire',
    '/pools/p1//lock/acquire',
    '/pools/p1/lock//acquire',
    '/./pools/p1/lock/acquire',
    '/pools/./p1/lock/acquire',
    '/pools/p1/./lock/acquire',
    '/pools/p1/../p2/lock/acquire',
    '/pools/p1/%2e%2e/p2/lock/acquire',
    '/pools/p1/%2E%2E/p2/lock/acquire',
    '/pools/p1/..%2fp2/lock/acquire',
    '/pools/p1/%252e%252e/p2/lock/acquire',
    '/POOLS/p1/lock/acquire',
    '/pools/P1/lock/acquire',
    '/pools/p1/LOCK/acquire',
    '/pools/p1/lock/Acquire',
    '/pools/p1/lock/acquire/',
    '/pools/p1/lock/acquire;x=1',
    '/pools/p1;x=1/lock/acquire',
    '/pools/p1 /lock/acquire',
    '/pools/p1%00/lock/acquire',
    '/pools/p1\\lock\\acquire',
    '/pools/p1./lock/acquire',
    '/pools/-p1/lock/acquire',
    '/pools/p_1/lock/acquire',
    `/pools/${'p'.repeat(64)}/lock/acquire`,
    '/pools//lock/acquire',
    '/pools/p1/lock/',
    '/pools/p1/lock',
    '/pools/p1/lock//renew',
    '/pools/__proto__/lock/acquire',
    '/pools/p1/lock/acquire/renew/release',
    '/x/pools/p1/lock/acquire',
  ];

  it.each(odd)('%s is no path at all, with a key or without', async (target) => {
    for (const headers of [{}, { 'x-nthpool-key': first.key }, { 'x-nthpool-key': second.key }]) {
      for (const method of ['POST', 'GET']) {
        const { status, json } = await door.call(method, target, { headers });
        expect(status, method).toBe(404);
        expect(json).toEqual({ error: 'not_found', message: expect.any(String) });
      }
    }
    expect(first.inUse + second.inUse).toBe(0);
  });

  it('with a query or a fragment that looks like a path changes nothing', async () => {
    const headers = { 'x-nthpool-key': first.key };
    const asked = await door.call('POST', '/pools/p1/lock/acquire?x=/../../p2/lock/acquire', {
      headers,
    });
    expect(asked.status).toBe(200);
    const other = await door.call('POST', '/pools/p2/lock/acquire?/pools/p1/lock/acquire', {
      headers,
    });
    expect(other.status).toBe(401);
    expect(second.inUse).toBe(0);
  });

  it.each(['x', '%00', '%2e%2e', 'a%2Fb', '%', '%ff', '..;', "'%3B--", '__proto__', 'constructor'])(
    'whose slotId is %s holds nothing',
    async (slotId) => {
      expect((await first.renew(slotId)).status).toBe(404);
      expect((await first.release(slotId)).text).toBe('{"released":false}');
    },
  );
});

describe('a path that is none', () => {
  it.each([
    ['/', '127.0.0.1:8787', '{pool}.localhost:8787 '],
    ['/v1/chat/completions', 'localhost:8787', '{pool}.localhost:8787 '],
    ['/v1/chat/completions', 'localhost', '{pool}.localhost '],
    ['/', 'p1.example.com:9', '{pool}.localhost:9 '],
    ['/', 'a.p1.localhost:9', '{pool}.localhost:9 '],
  ])('as %s of %s is told where a pool and the admin page are', async (path, host, pool) => {
    for (const method of ['GET', 'POST']) {
      const { status, json } = await door.call(method, path, { host });
      expect(status).toBe(404);
      expect(json).toEqual({ error: 'not_found', message: expect.stringContaining(`at ${pool}`) });
      for (const word of ['--pool-listen', '/admin', '/docs']) {
        expect(json['message']).toContain(word);
      }
      expect(json['message']).not.toContain('p1');
    }
  });
});

describe('another method', () => {
  it.each(METHODS.filter((method) => method !== 'POST'))(
    '%s on a lock path is 405 with Allow, without a key and for any pool',
    async (method) => {
      for (const path of ['p1/lock/acquire', 'nobody/lock/acquire', 'p1/lock/x/renew']) {
        const { status, headers, text } = await door.call(method, `/pools/${path}`);
        expect(status).toBe(405);
        expect(headers.get('allow')).toBe('POST');
        const told = { error: 'method_not_allowed', message: 'This path takes POST.' };
        expect(text).toBe(method === 'HEAD' ? '' : JSON.stringify(told));
      }
      expect(first.inUse).toBe(0);
    },
  );

  it('on any other route is 405 with all that it allows, and needs no token', async () => {
    const paths = new Map<string, string[]>();
    for (const { path, method } of ROUTES) {
      paths.set(path, [...paths.get(path) ?? [], method]);
    }
    for (const [path, allowed] of paths) {
      const unknown = METHODS.filter((method) =>
        !allowed.includes(method) && !(method === 'HEAD' && allowed.includes('GET'))
      );
      for (const method of unknown) {
        const { status, headers } = await door.call(method, path.replaceAll(':', 'x'));
        expect(status, `${method} ${path}`).toBe(405);
        expect(headers.get('allow')?.split(', ').toSorted()).toEqual(allowed.toSorted());
      }
    }
  });
});

describe('an odd spelling of an administration path', () => {
  const odd = [
    '/%61dmin/api/pools',
    '/admin/%61pi/pools',
    '/admin/api/%70ools',
    '/admin//api/pools',
    '//admin/api/pools',
    '/admin/api/pools/',
    '/admin/api/./pools',
    '/x/../admin/api/pools',
    '/x/%2e%2e/admin/api/pools',
    '/ADMIN/api/pools',
    '/admin/api/pools;x=1',
    '/admin/api/pools/%2e%2e/pools',
    '/admin/api/pools%2fp1',
    '/admin%2fapi%2fpools',
    '/healthz/../admin/api/pools',
    '/healthz%2f..%2fadmin/api/pools',
    '/admin/api/pools/p1%2fkeys',
    '/admin/api/pools/%',
    '/admin/api/pools/%ff',
    '/admin/api/pools/%00',
  ];

  it.each(odd)('%s is never answered without the token', async (target) => {
    const callers = [
      {},
      { 'x-nthpool-key': first.key },
      { authorization: `Nthbouncer ${first.key}` },
      { authorization: `Bearer ${first.key}` },
    ];
    for (const headers of callers) {
      const { status, text } = await door.call('GET', target, { headers });
      expect([400, 401, 404]).toContain(status);
      expect(text).not.toContain('p1');
    }
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    const { status } = await door.call('GET', target, { headers: { authorization } });
    expect([200, 400, 404]).toContain(status);
  });
});

describe('the host', () => {
  it.each([
    'p1.localhost',
    'p1.localhost:8787',
    'P1.LocalHost',
    'p1.localhost.',
    'nobody.localhost',
    '%70.localhost',
  ])('%s is a pool host, where neither locks nor administration are', async (host) => {
    const paths = ['/pools/p1/lock/acquire', '/admin/api/pools', '/healthz', '/'];
    for (const path of paths) {
      for (const headers of [{}, { authorization: `Bearer ${ADMIN_TOKEN}` }]) {
        const { status, json } = await door.call('POST', path, { host, headers });
        expect(status).toBe(401);
        expect(json['error']).toBe('unauthorized');
      }
    }
    const headers = { 'x-nthpool-key': first.key };
    const { json } = await door.call('POST', '/pools/p1/lock/acquire', { host, headers });
    expect(json['slotId']).toBe(undefined);
    expect(first.inUse).toBe(0);
  });

  it.each([
    'localhost',
    'localhost.',
    '127.0.0.1:8787',
    '[::1]:8787',
    'api.example.com',
    'a.b.localhost',
    '.localhost',
    'p1.localhost.example.com',
    'p1localhost',
    'x'.repeat(5000),
  ])('%s is the API', async (host) => {
    const headers = { 'x-nthpool-key': first.key };
    const { status } = await door.call('POST', '/pools/p1/lock/acquire', { host, headers });
    expect(status).toBe(200);
  });
});

describe('the access log', () => {
  it('keeps a path without its query, and without a key of ours', async () => {
    const call = { host: 'p1.localhost', headers: { 'x-nthpool-key': first.key } };
    await door.call('GET', `/v1/${first.key}/x?key=${first.key}`, call);
    const { text, json } = await door.admin('GET', '/pools/p1/log');
    const [entry] = json['entries'] as { path: string }[];
    expect(entry?.path).toBe(`/v1/${first.key.slice(0, 12)}***/x`);
    expect(text).not.toContain(first.key.slice(0, 13));
  });
});

describe('a host that is none', () => {
  it.each(['x/y', 'localhost/pools/p1/lock/acquire?', 'a@p1.localhost', 'x?y', 'x#y', 'x\\y'])(
    '%s is refused with 400, before anything is read',
    async (host) => {
      const headers = { host, 'x-nthpool-key': first.key };
      const { status, json } = await door.call('POST', '/pools/p1/lock/acquire', { host, headers });
      expect(status).toBe(400);
      expect(json['error']).toBe('invalid_request');
      expect(first.inUse).toBe(0);
    },
  );

  it('in an absolute target gives no path from its query', async () => {
    const headers = { 'x-nthpool-key': first.key };
    const call = { host: 'localhost?x=', headers };
    expect((await door.call('POST', '/pools/p1/lock/acquire', call)).status).toBe(400);
    expect(first.inUse).toBe(0);
  });
});

describe('Hosts', () => {
  it('remembers no more hosts than it may, and stays right', () => {
    const hosts = new Hosts('Example.COM');
    for (let i = 0; i < 5000; i++) {
      expect(hosts.poolOf(`p${i}.example.com`)).toBe(`p${i}`);
      expect(hosts.poolOf(`p${i}.example.org`)).toBe(null);
    }
    expect(hosts.poolOf('p1.example.com:443')).toBe('p1');
    expect(hosts.poolOf('localhost')).toBe(null);
    expect(hosts.poolOf('example.com')).toBe(null);
    for (let i = 0; i < 3; i++) expect(hosts.poolOf(`${'x'.repeat(9000)}.example.org`)).toBe(null);
  });
});
