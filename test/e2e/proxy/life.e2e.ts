/**
 * The life of a proxied slot against raw ends: it is given back exactly once and soon, whichever
 * side breaks off, at whichever stage. After each scenario the capacity probe must be exact.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answering, holds, plain, RawCaller, RawUpstream, sleep } from './raw.ts';
import { ProxyServer } from './server.ts';

const server = new ProxyServer();
const upstream = new RawUpstream(answering(plain()));
const HOST = 'Host: life.localhost\r\n';

beforeAll(async () => {
  await upstream.listen();
  await server.start();
  await server.pool('life', upstream.port, {
    limit: 1,
    upstream: { stallTimeoutMs: 1500, requestTimeoutMs: 4000, connectTimeoutMs: 500 },
    queue: { timeoutMs: 10_000 },
  });
});
afterAll(() => {
  upstream.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

function caller(text: string): RawCaller {
  return new RawCaller(server.port).send(text);
}

const GET = `GET /a HTTP/1.1\r\n${HOST}\r\n`;

async function logged(): Promise<Record<string, unknown>> {
  const { entries } = await server.admin('GET', '/pools/life/log?limit=50');
  const rows = entries as Record<string, unknown>[];
  return rows.find(({ kind }) => kind === 'proxy') as Record<string, unknown>;
}

describe('the caller breaks off', () => {
  const ways = [
    ['RST', (one: RawCaller) => one.reset()],
    ['FIN', (one: RawCaller) => one.close()],
  ] as const;

  it.each(ways)('by %s before the answer', async (_, leave) => {
    upstream.play = () => {};
    const one = caller(GET);
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    await sleep(150);
    expect(await server.capacity('life')).toBe(0);
    leave(one);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0), 'upstream aborted').toBe(true);
    expect(await logged()).toMatchObject({ outcome: 'client_gone', path: '/a', method: 'GET' });
  });

  it.each(ways)('by %s right after asking', async (_, leave) => {
    upstream.play = () => {};
    const one = caller(GET);
    await holds(() => upstream.requests.length === 1);
    leave(one);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });

  it.each(ways)('by %s while an idle stream is open', async (_, leave) => {
    upstream.play = answering('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n');
    const one = caller(GET);
    await one.until(/hi/);
    expect(await server.capacity('life')).toBe(0);
    leave(one);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });

  it.each(ways)('by %s in the middle of its upload', async (_, leave) => {
    upstream.play = () => {};
    const one = caller(`POST /a HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\nhalf`);
    expect(await holds(() => upstream.requests.length === 1)).toBe(true);
    await sleep(50);
    leave(one);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });

  it('while it waits: the upstream never hears of it, and the next is served', async () => {
    upstream.play = () => {};
    const first = caller(GET);
    await holds(() => upstream.requests.length === 1);
    const second = caller(`POST /second HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\nab`);
    await sleep(100);
    second.reset();
    await sleep(100);
    const third = caller(`GET /third HTTP/1.1\r\n${HOST}\r\n`);
    await sleep(100);
    upstream.play = answering(plain());
    [...upstream.sockets].forEach((socket) => socket.write(plain('first')));
    expect(await first.until(/first/)).toContain('200 OK');
    expect(await third.until(/ok$/)).toContain('200 OK');
    expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/a', '/third']);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    first.close();
    third.close();
  });

  it('stalls: it stops reading a large answer', async () => {
    upstream.play = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', more);
      more();
    };
    const one = caller(GET);
    await one.until(/200 OK/);
    one.socket.pause();
    await sleep(500);
    expect(await server.capacity('life')).toBe(0);
    expect(await server.capacityWithin('life', 1, 4000)).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    one.close();
  });
});

describe('the upstream breaks off', () => {
  it('after the whole request: 502, and the request was sent once', async () => {
    upstream.play = (socket) => void socket.resetAndDestroy();
    for (const method of ['GET', 'PUT', 'POST']) {
      upstream.requests.length = 0;
      const answer = await server.call({ pool: 'life', method, body: 'x' });
      expect(answer.status).toBe(502);
      expect(answer.headers['x-nthpool-error']).toBe('upstream_unreachable');
      await sleep(100);
      expect(upstream.requests).toHaveLength(1);
      expect(await server.capacity('life')).toBe(1);
    }
    expect(await logged()).toMatchObject({ outcome: 'upstream_unreachable', status: 502 });
  });

  it('the same on a connection that was used before', async () => {
    upstream.play = answering(plain());
    expect((await server.call({ pool: 'life' })).status).toBe(200);
    upstream.play = (socket) => void socket.resetAndDestroy();
    upstream.requests.length = 0;
    expect((await server.call({ pool: 'life', method: 'POST', body: 'x' })).status).toBe(502);
    await sleep(100);
    expect(upstream.requests).toHaveLength(1);
    expect(await server.capacity('life')).toBe(1);
  });

  it('while a connection is idle: the next request takes a new one', async () => {
    upstream.play = answering(plain());
    expect((await server.call({ pool: 'life' })).status).toBe(200);
    for (const socket of upstream.sockets) socket.end();
    expect((await server.call({ pool: 'life', method: 'POST', body: 'x' })).status).toBe(200);
  });

  it.each([
    ['a length', 'content-length: 100\r\n\r\nshort'],
    ['chunks', 'transfer-encoding: chunked\r\n\r\n5\r\nshort\r\n'],
    ['chunks that are bad', 'transfer-encoding: chunked\r\n\r\n5\r\nshort\r\nzz\r\n'],
  ])('in the middle of a body of %s: the caller sees it broken', async (_, text) => {
    upstream.play = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${text}`);
      setTimeout(() => socket.resetAndDestroy(), 100);
    };
    const one = caller(GET);
    const received = await one.until('ended');
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await server.capacityWithin('life', 1)).toBe(1);
    expect(await logged()).toMatchObject({ outcome: 'upstream_unreachable', upstreamStatus: 200 });
  });

  it('stalls before the answer: 504', async () => {
    upstream.play = () => {};
    const answer = await server.call({ pool: 'life' });
    expect(answer.status).toBe(504);
    expect(JSON.parse(answer.body).error).toBe('upstream_timeout');
    expect(await server.capacity('life')).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });

  it('stalls in the body: the caller sees it broken', async () => {
    upstream.play = answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort');
    expect(await caller(GET).until('ended')).toMatch(/short$/);
    expect(await server.capacityWithin('life', 1)).toBe(1);
  });

  it('drips for longer than a request may take', async () => {
    upstream.play = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const timer = setInterval(() => socket.write('1\r\n.\r\n'), 300);
      socket.on('close', () => clearInterval(timer));
    };
    const one = caller(GET);
    expect(await one.until('ended', 8000)).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await server.capacityWithin('life', 1)).toBe(1);
  });

  it('answers what is not HTTP', async () => {
    for (
      const text of ['HTTP/1.1 200 OK\n\n', 'SSH-2.0-x\r\n\r\n', 'HTTP/1.1 200 OK\r\nA : b\r\n\r\n']
    ) {
      upstream.play = answering(text);
      expect((await server.call({ pool: 'life' })).status).toBe(502);
      expect(await server.capacity('life')).toBe(1);
    }
  });
});

describe('the server', () => {
  it('forgets proxied slots when it is killed', async () => {
    upstream.play = () => {};
    const one = caller(GET);
    await holds(() => upstream.requests.length === 1);
    // Releases of probes before are durable by then.
    await sleep(400);
    await server.kill('SIGKILL');
    await server.start();
    expect(await server.capacity('life')).toBe(1);
    one.close();
  });

  it('ends a request whose slot is taken back', async () => {
    upstream.play = () => {};
    const one = caller(GET);
    await holds(() => upstream.requests.length === 1);
    const { slots } = await server.admin('GET', '/pools/life/slots');
    const [slot] = slots as { ref: string; kind: string }[];
    expect(slot?.kind).toBe('proxy');
    await server.admin('DELETE', `/pools/life/slots/${slot?.ref}`);
    expect(await server.capacity('life')).toBe(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    one.close();
  });

  it('ends the requests of a pool that is deleted', async () => {
    await server.pool('gone', upstream.port, { limit: 2 });
    upstream.play = answering('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n');
    const one = caller('GET /a HTTP/1.1\r\nHost: gone.localhost\r\n\r\n');
    await one.until(/hi/);
    await server.admin('DELETE', '/pools/gone');
    expect(await one.until('ended')).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
  });
});
