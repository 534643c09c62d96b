/**
 * Who is let through the proxy door and how it says no: waiting, refusals, credentials, hosts,
 * loops, a store that fails, and a storm of mixed requests after which every slot is back.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { createClient } from '@libsql/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answering, freePort, holds, plain, RawCaller, RawUpstream, sleep } from './raw.ts';
import { ProxyServer } from './server.ts';

const server = new ProxyServer();
const upstream = new RawUpstream(answering(plain()));
const NO_QUEUE = { 'x-nthpool-no-queue': '1' };

beforeAll(async () => {
  await upstream.listen();
  await server.start();
});
afterAll(async () => {
  upstream.close();
  await server.end();
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.play = answering(plain());
});

/** Holds the pool's one slot by a lock until the promise's function is called. */
async function hold(pool: string): Promise<() => Promise<unknown>> {
  const path = `/pools/${pool}/lock`;
  const { body } = await server.call({ method: 'POST', path: `${path}/acquire` });
  const { slotId } = JSON.parse(body);
  return () => server.call({ method: 'POST', path: `${path}/${slotId}/release` });
}

describe('admission', () => {
  beforeAll(() => server.pool('gate', upstream.port, { limit: 1, queue: { timeoutMs: 1500 } }));

  it('waits by default, shares the slots with locks, and tells how long', async () => {
    const release = await hold('gate');
    const answer = server.call({ pool: 'gate' });
    await sleep(300);
    expect(upstream.requests).toHaveLength(0);
    await release();
    const { status, headers } = await answer;
    expect(status).toBe(200);
    expect(Number(headers['x-nthpool-queued-ms'])).toBeGreaterThanOrEqual(250);
    expect(headers).toMatchObject({
      'x-nthpool-remaining-slots': '0',
      'x-nthpool-effective-limit': '1',
      'x-nthpool-queue-depth': '0',
    });
    expect(headers).not.toHaveProperty('x-nthpool-error');
    expect(await server.capacity('gate')).toBe(1);
  });

  it('refuses at once, after less, or when the queue timeout is over', async () => {
    const release = await hold('gate');
    const full = await server.call({ pool: 'gate', headers: NO_QUEUE });
    expect(full).toMatchObject({
      status: 429,
      headers: { 'x-nthpool-error': 'too_many_requests' },
    });
    expect(JSON.parse(full.body)).toMatchObject({ error: 'too_many_requests', reason: 'full' });
    expect(Number(full.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    for (
      const [headers, ms] of [[{ 'x-nthpool-queue-timeout-ms': '200' }, 200], [{}, 1500]] as const
    ) {
      const start = performance.now();
      const late = await server.call({ pool: 'gate', headers });
      expect(late).toMatchObject({ status: 504, headers: { 'x-nthpool-error': 'queue_timeout' } });
      expect(Math.abs(performance.now() - start - ms)).toBeLessThan(300);
    }
    const bad = await server.call({
      pool: 'gate',
      headers: { 'x-nthpool-queue-timeout-ms': '-1' },
    });
    expect(bad.status).toBe(400);
    await release();
    expect(upstream.requests).toHaveLength(0);
  });

  it('tells an unknown pool, a wrong key and a missing one the same', async () => {
    await server.pool('keyed', upstream.port, { access: { key: { required: true } } });
    const answers = [
      await server.call({ pool: 'nobody' }),
      await server.call({ pool: 'keyed' }),
      await server.call({ pool: 'keyed', headers: { 'x-nthpool-key': 'nb_live_wrong' } }),
    ];
    for (const { status, headers, body } of answers) {
      expect([status, headers['x-nthpool-error'], body]).toEqual(
        [401, 'unauthorized', answers[0]?.body],
      );
      expect(Object.keys(headers).toSorted()).toEqual(
        Object.keys(answers[0]?.headers ?? {}).toSorted(),
      );
    }
    const { key } = await server.admin('POST', '/pools/keyed/keys', { name: 'k' });
    const headers = { 'x-nthpool-key': String(key), authorization: 'Bearer own' };
    expect((await server.call({ pool: 'keyed', headers })).status).toBe(200);
    expect(upstream.requests[0]?.head).toContain('authorization: Bearer own');
    expect(upstream.requests[0]?.head).not.toContain(String(key));
  });

  it('serves further hosts of a pool, each of one pool only', async () => {
    await server.admin('PATCH', '/pools/gate', { upstream: { hosts: ['LLM.acme.test'] } });
    const headers = { host: `llm.acme.test:${server.port}` };
    expect((await server.call({ headers })).body).toBe('ok');
    await expect(server.pool('thief', upstream.port, { upstream: { hosts: ['llm.acme.test'] } }))
      .rejects.toThrow('400');
    await server.admin('PATCH', '/pools/gate', { upstream: { hosts: null } });
    expect((await server.call({ headers })).status).toBe(404);
  });
});

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
    upstream.play = (socket) => void socket.destroy();
    for (
      const [pool, status, code] of [
        ['none', 501, 'no_upstream'],
        ['refused', 502, 'upstream_unreachable'],
        ['dns', 502, 'upstream_unreachable'],
        ['tls', 502, 'upstream_unreachable'],
        ['loop', 508, 'loop_detected'],
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

describe('credentials', () => {
  const seen = () => upstream.requests.map(({ head }) => /x-api-key: (.*)\r/.exec(head)?.[1]);

  beforeAll(() =>
    server.pool('keys', upstream.port, {
      limit: 2,
      upstream: {
        credentials: ['a', 'b'].map((name) => ({ name, header: 'X-Api-Key', value: `s-${name}` })),
      },
    })
  );

  it("take turns, replace the caller's header, and are put aside when refused", async () => {
    for (let at = 0; at < 3; at++) {
      await server.call({ pool: 'keys', headers: { 'x-api-key': 'mine' } });
    }
    expect(seen()).toEqual(['s-a', 's-b', 's-a']);
    upstream.play = answering('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n');
    expect((await server.call({ pool: 'keys' })).status).toBe(401);
    const throttle = 'HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n';
    upstream.play = answering(throttle);
    expect((await server.call({ pool: 'keys' })).status).toBe(429);
    const refused = await server.call({ pool: 'keys', headers: NO_QUEUE });
    expect(refused.headers['x-nthpool-error']).toBe('too_many_requests');
    expect(JSON.parse(refused.body).reason).toBe('credentials');
    const { credentials } = await server.admin('GET', '/pools/keys/status');
    expect(credentials).toMatchObject([
      { name: 'a', coolingFor: 429 },
      { name: 'b', coolingFor: 401 },
    ]);
    expect(upstream.requests).toHaveLength(5);
  });

  it('are shown nowhere, and kept where a change leaves them out', async () => {
    await server.admin('PATCH', '/pools/keys', {
      upstream: { credentials: [{ name: 'a', header: 'x-other' }] },
    });
    const everything = JSON.stringify([
      await server.admin('GET', '/pools'),
      await server.admin('GET', '/pools/keys'),
      await server.admin('GET', '/pools/keys/status'),
      await server.admin('GET', '/pools/keys/log'),
    ]) + server.output;
    expect(everything).not.toMatch(/s-a|s-b/);
    expect(everything).toContain('secretSet');
    await sleep(1200);
    upstream.requests.length = 0;
    await server.call({ pool: 'keys', headers: { 'x-nthpool-queue-timeout-ms': '5000' } });
    expect(upstream.requests[0]?.head).toContain('x-other: s-a');
  });
});

describe('a store that fails', () => {
  it('does not hold up forwarding', async () => {
    await server.pool('store', upstream.port, { limit: 1 });
    await sleep(300);
    const file = `${server.folder}/a.db`;
    expect(existsSync(file)).toBe(true);
    const other = createClient({ url: `file:${file}` });
    const hold = await other.transaction('write');
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
    const worker = async () => {
      while (left-- > 0) {
        const caller = new RawCaller(server.port);
        const body = left % 3 === 0 ? 'x'.repeat(left % 5000) : '';
        caller.send(
          'POST /s HTTP/1.1\r\nHost: storm.localhost\r\n' +
            `Content-Length: ${body.length}\r\n\r\n${body}`,
        );
        if (left % 4 === 0) await sleep(10 * Math.random());
        else await caller.until(/HTTP\/1\.1 \d+[\s\S]*\r\n\r\n/, 10_000).catch(() => {});
        if (left % 2 === 0) caller.reset();
        else caller.close();
      }
    };
    await Promise.all(Array.from({ length: 48 }, worker));
    expect(await server.capacityWithin('storm', 16, 3000)).toBe(16);
    expect(await holds(() => upstream.sockets.size <= 17, 3000)).toBe(true);
    const status = await server.admin('GET', '/pools/storm/status');
    expect(status).toMatchObject({ inUse: 0, queued: 0, proxied: { underWay: 0 } });
  }, 120_000);
});
