/** Odd spellings of a path, sent as they are: none of them leads past the check of a key. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

function send(origin: string, path: string, headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(origin);
  return new Promise((done, fail) => {
    const sent = request({ hostname, port, path, method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => done(answer.statusCode ?? 0));
    });
    sent.on('error', fail).end();
  });
}

test('a path has one reading: a key never works in another pool, nor none at all', async () => {
  const server = await startServer();
  const { origin } = server;
  const { key } = await server.pool('p1');
  await server.pool('p2');
  const own = { 'x-nthpool-key': key };
  expect(await send(origin, '/pools/p1/lock/acquire', own)).toBe(200);
  const odd = [
    '/pools/p2/lock/acquire',
    '/%70ools/p2/lock/acquire',
    '/pools/%702/lock/acquire',
    '/pools/p%32/lock/acquire',
    '//pools/p2/lock/acquire',
    '/pools//p2/lock/acquire',
    '/pools/./p2/lock/acquire',
    '/pools/p1/../p2/lock/acquire',
    '/pools/p1/%2e%2e/p2/lock/acquire',
    '/pools/p1%2f..%2fp2/lock/acquire',
    '/pools/p1/lock/../../p2/lock/acquire',
    '/pools/p1/lock/%252e%252e/acquire',
    '/POOLS/p2/lock/acquire',
    '/pools/P2/lock/acquire',
    '/pools/p2/lock/acquire/',
    '/pools/p2/lock/acquire;x=1',
    '/pools/p2;x=1/lock/acquire',
    '/pools/p2/lock/%61cquire',
    '/pools/p2/lock//acquire',
    '/pools/p2\\lock\\acquire',
  ];
  for (const path of odd) {
    for (const headers of [{}, own]) {
      const status = await send(origin, path, headers);
      expect({ path, status, isRefused: [400, 401, 404, 405].includes(status) })
        .toMatchObject({ isRefused: true });
    }
  }
  for (
    const path of [
      '/%61dmin/api/pools',
      '//admin/api/pools',
      '/admin/api/../api/pools',
      '/admin/%61pi/pools',
      '/admin/api/pools/',
      '/ADMIN/api/pools',
    ]
  ) {
    for (const headers of [{}, own, { authorization: `Bearer ${key}` }]) {
      expect([400, 401, 404, 405]).toContain(await send(origin, path, headers));
    }
  }
}, 60_000);
