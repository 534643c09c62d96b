/**
 * The proxy door in trouble: upstreams that cannot be reached or set, a store that fails, and a
 * storm of mixed requests, after which every slot is back.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { createClient } from '@libsql/client';
import { describe, expect, it } from 'vitest';
import { freePort, holds, plain, RawCaller, sleep } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const NO_QUEUE = { 'x-nthpool-no-queue': '1' };

describe('upstreams that cannot be reached', () => {
  it('are told as 501, 502 and 508, and take no slot for long', async () => {
    await server.admin('POST', '/pools', { name: 'none', access: { key: { required: false } } });
    await server.pool('refused', await freePort(), { limit: 1 });
    await server.pool('dns', 1, { limit: 1, upstream: { url: 'http://nobody.invalid' } });
    const plainText = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n'));
    });
    const tlsPort = await freePort();
    plainText.listen(tlsPort, '127.0.0.1');
    await server.pool('tls', 1, { limit: 1, upstream: { url: `https://127.0.0.1:${tlsPort}` } });
    await server.pool('loop', server.port, { limit: 1 });
    const tlsUrl = `https://127.0.0.1:${server.port}`;
    await server.pool('loop-tls', 1, { limit: 1, upstream: { url: tlsUrl } });
    const mapped = `http://[::ffff:127.0.0.1]:${server.port}`;
    await server.pool('mapped', 1, { limit: 1, upstream: { url: mapped } });
    upstream.play = (socket) => void socket.destroy();
    for (
      const [pool, status, code] of [
        ['none', 501, 'no_upstream'],
        ['refused', 502, 'upstream_unreachable'],
        ['dns', 502, 'upstream_unreachable'],
        ['tls', 502, 'upstream_unreachable'],
        ['loop', 508, 'loop_detected'],
        ['loop-tls', 508, 'loop_detected'],
        ['mapped', 508, 'loop_detected'],
      ] as const
    ) {
      const answer = await server.call({ pool, headers: { connection: 'close' } });
      expect([pool, answer.status, answer.headers['x-nthpool-error']]).toEqual([
        pool,
        status,
        code,
      ]);
      expect(answer.body).not.toMatch(/127\.0\.0\.1|nobody\.invalid/);
      if (pool !== 'none') expect(await server.capacity(pool)).toBe(1);
    }
    plainText.close();
  }, 30_000);

  it('are checked when they are set', async () => {
    const bad = [
      { url: 'ftp://x' },
      { url: 'http://u:p@x' },
      { url: 'http://x/?q' },
      { url: 'http://x/#f' },
      ...['Host', 'te', 'X-Nthpool-Key', 'Content-Length', 'Upgrade'].map((header) => ({
        credentials: [{ name: 'a', header, value: 'v' }],
      })),
      { credentials: [{ name: 'a', header: 'x', value: 'a\r\nb: c' }] },
      { credentials: [{ name: 'a', header: 'x' }] },
      { stallTimeoutMs: 0 },
      { unknown: 1 },
    ];
    for (const more of bad) {
      await expect(server.pool('bad', 1, { upstream: more }), JSON.stringify(more))
        .rejects.toThrow('400');
    }
  });
});

describe('a store that fails', () => {
  it('does not hold up forwarding', async () => {
    await server.pool('store', upstream.port, { limit: 1 });
    await sleep(300);
    const file = `${server.folder}/a.db`;
    expect(existsSync(file)).toBe(true);
    const other = createClient({ url: `file:${file}` });
    // The server may be writing just now.
    const begin = () => other.transaction('write').catch(() => null);
    let hold = await begin();
    for (let tries = 0; hold === null && tries < 50; tries++) {
      await sleep(20);
      hold = await begin();
    }
    if (hold === null) throw new Error('the database was never free');
    try {
      const lock = () =>
        server.call({ method: 'POST', path: '/pools/store/lock/acquire', headers: NO_QUEUE });
      expect((await lock()).status).toBe(503);
      for (let at = 0; at < 5; at++) {
        expect((await server.call({ pool: 'store' })).status).toBe(200);
      }
    } finally {
      await hold.rollback();
      other.close();
    }
    expect(await server.capacityWithin('store', 1, 3000)).toBe(1);
  });
});

describe('a storm', () => {
  it('of mixed requests with random aborts leaves every slot free', async () => {
    await server.pool('storm', upstream.port, {
      limit: 16,
      upstream: { stallTimeoutMs: 1000 },
      queue: { timeoutMs: 2000 },
    });
    upstream.play = (socket, request) => {
      const chance = Math.random();
      if (chance < 0.05) return void socket.resetAndDestroy();
      if (chance < 0.1) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf');
        return void setTimeout(() => socket.destroy(), 5);
      }
      if (chance < 0.12) return void socket.write('nonsense\r\n\r\n');
      const answer = () => {
        if (chance < 0.5) socket.write(plain(`got ${request.head.length}`));
        else {socket.write(
            'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
          );}
      };
      if (chance < 0.8) answer();
      else setTimeout(answer, 20 * Math.random());
    };
    let left = 10_000;
    const answers = { good: 0, bad: 0 };
    const worker = async () => {
      while (left-- > 0) {
        const caller = new RawCaller(server.port);
        const body = left % 3 === 0 ? 'x'.repeat(left % 5000) : '';
        caller.send(
          'POST /s HTTP/1.1\r\nHost: storm.localhost\r\n' +
            `Content-Length: ${body.length}\r\n\r\n${body}`,
        );
        if (left % 4 === 0) await sleep(10 * Math.random());
        else {
          const answer = await caller.until(/HTTP\/1\.1 \d+[\s\S]*\r\n\r\n/, 10_000)
            .catch(() => '');
          if (answer.startsWith('HTTP/1.1 200')) answers.good++;
          else answers.bad++;
        }
        if (left % 2 === 0) caller.reset();
        else caller.close();
      }
    };
    await Promise.all(Array.from({ length: 48 }, worker));
    // Of those that wait for their answer, seven of eight are to get one.
    expect(answers.good).toBeGreaterThan(answers.bad);
    expect(answers.bad).toBeGreaterThan(0);
    expect(await server.capacityWithin('storm', 16, 3000)).toBe(16);
    expect(await holds(() => upstream.sockets.size <= 17, 3000)).toBe(true);
    const status = await server.admin('GET', '/pools/storm/status');
    expect(status).toMatchObject({ inUse: 0, queued: 0, proxied: { underWay: 0 } });
  }, 120_000);
});
