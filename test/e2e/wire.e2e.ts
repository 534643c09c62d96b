/**
 * The wire as a browser never uses it: malformed heads, pipelining, bodies that nobody reads or
 * ends, waits on connections that are kept. The server answers or closes, and goes on.
 */
import http from 'node:http';
import net from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { sleep } from './process.ts';
import { type PoolCalls, type Server, startServer, until } from './server.ts';

let server: Server;
let pool: PoolCalls;
beforeAll(async () => {
  server = await startServer();
  pool = await server.pool('wire', { concurrency: { limit: 5, mode: 'fixed' } });
});

const ACQUIRE = '/pools/wire/lock/acquire';
const port = () => Number(new URL(server.origin).port);
const headOf = (more = '') => `Host: localhost\r\nX-Nthpool-Key: ${pool.key}\r\n${more}`;

/** Sends bytes as they are; resolves with what came by the time that `isDone` or the end is. */
function raw(bytes: string, isDone: (text: string) => boolean, forMs = 3000): Promise<string> {
  return new Promise((told) => {
    let text = '';
    const socket = net.connect(port(), '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      told(text);
    };
    const timer = setTimeout(end, forMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (isDone(text)) end();
    });
    socket.on('error', end);
    socket.on('close', end);
  });
}

const hasAnswer = (text: string) => /^HTTP\/1\.\d \d+[^]*\r\n\r\n/.test(text);
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.\d (\d+)/g)].map(([, s]) => s);

async function giveAllBack(): Promise<void> {
  const { json } = await server.admin('GET', '/pools/wire/slots');
  for (const { ref } of json.slots) await server.admin('DELETE', `/pools/wire/slots/${ref}`);
}

describe('a malformed request', () => {
  const bad: Record<string, string> = {
    'two hosts': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`,
    'no host': `POST ${ACQUIRE} HTTP/1.1\r\nHosts: a\r\n\r\n`,
    'a host with a path': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a/b?\r\n\r\n`,
    'a length that is no number':
      `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n`,
    'a negative length': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n`,
    'two lengths':
      `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello`,
    'a length and chunks': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'a folded header': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n`,
    'a bare LF': `POST ${ACQUIRE} HTTP/1.1\nHost: a\n\n`,
    'a NUL': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n`,
    'a path with a blank': 'POST /pools/wire /lock/acquire HTTP/1.1\r\nHost: a\r\n\r\n',
    'another version': `POST ${ACQUIRE} HTTP/3.0\r\nHost: a\r\n\r\n`,
    'no HTTP': '\0\x01\x02garbage\r\n\r\n',
  };
  const large: Record<string, string> = {
    'a thousand headers': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(1000)}\r\n`,
    'a head of a megabyte': `POST ${ACQUIRE} HTTP/1.1\r\nHost: a\r\nX: ${
      'x'.repeat(1 << 20)
    }\r\n\r\n`,
    'a megabyte without a line end': `POST ${ACQUIRE}${'x'.repeat(1 << 20)}`,
  };
  const elsewhere: Record<string, string> = {
    'an absolute target with a path in its query':
      `POST http://localhost?x=${ACQUIRE} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    'a path of bytes': 'POST /pools/\xff\xfe/lock/acquire HTTP/1.1\r\nHost: a\r\n\r\n',
  };

  const refusals = [
    { status: 400, code: 'invalid_request', heads: bad },
    { status: 431, code: 'head_too_large', heads: large },
    { status: 404, code: 'not_found', heads: elsewhere },
  ];

  it.each(
    refusals.flatMap(({ status, code, heads }) =>
      Object.entries(heads).map(([what, head]) => [what, status, code, head] as const)
    ),
  )('with %s is told as %i %s, and takes no slot', async (_, status, code, head) => {
    const keyed = head.replace('Host:', `X-Nthpool-Key: ${pool.key}\r\nHost:`);
    const text = await raw(keyed, (so) => so.endsWith('"}'), 1500);
    expect(statuses(text)).toEqual([String(status)]);
    expect(text).toContain(`{"error":"${code}","message":`);
    if (status !== 404) expect(text).toContain(`\r\nx-nthpool-error: ${code}\r\n`);
    expect((await pool.status()).inUse).toBe(0);
    expect((await server.call('GET', '/healthz')).status).toBe(200);
  });

  it('that is TLS is told at once that it is no HTTP', async () => {
    const text = await raw('\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', hasAnswer, 500);
    expect(statuses(text)).toEqual(['400']);
    expect(text).toContain('no HTTP');
    expect((await server.call('GET', '/healthz')).status).toBe(200);
  });

  it.each([
    ['a chunk that is none', 'Transfer-Encoding: chunked\r\n\r\nZZ\r\n'],
    ['a chunk of no end', 'Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n'],
    ['another coding', 'Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n'],
  ])('whose body has %s takes no slot', async (_, rest) => {
    const text = await raw(`POST ${ACQUIRE} HTTP/1.1\r\n${headOf(rest)}`, hasAnswer, 1500);
    expect(statuses(text)).toEqual(['400']);
    expect((await pool.status()).inUse).toBe(0);
  });
});

describe('one connection', () => {
  it('with a hundred acquires at once is answered a hundred times, within the limit', async () => {
    const one = `POST ${ACQUIRE} HTTP/1.1\r\n${headOf('Content-Length: 0\r\n\r\n')}`;
    const text = await raw(one.repeat(100), (so) => statuses(so).length >= 100, 10_000);
    const granted = statuses(text).filter((status) => status === '200');
    expect(statuses(text)).toHaveLength(100);
    expect(granted).toHaveLength(5);
    expect((await pool.status()).inUse).toBe(5);
    await giveAllBack();
  });

  it.each([
    ['renew', `/pools/wire/lock/${'x'.repeat(24)}/renew`, '404'],
    ['a refused acquire', ACQUIRE, '413'],
    ['a stranger', '/pools/nobody/lock/acquire', '401'],
  ])('of %s with a body that nobody reads is answered', async (_, path, status) => {
    const size = 300_000;
    const head = `POST ${path} HTTP/1.1\r\n${headOf(`Content-Length: ${size}\r\n\r\n`)}`;
    const text = await raw(head + 'x'.repeat(size), hasAnswer, 5000);
    expect(statuses(text)).toEqual([status]);
    expect(text).toContain('\r\nconnection: close\r\n');
    expect((await server.call('GET', '/healthz')).status).toBe(200);
  });

  it('goes on behind a short body that nobody reads', async () => {
    const one = `POST /pools/nobody/lock/acquire HTTP/1.1\r\n${
      headOf('Content-Length: 50000\r\n')
    }`;
    const next = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const bytes = `${one}\r\n${'x'.repeat(50_000)}${next}`;
    const text = await raw(bytes, (so) => statuses(so).length === 2);
    expect(statuses(text)).toEqual(['401', '200']);
    expect(text).not.toContain('connection: close');
  });

  it('without a key is told so, though the caller waits to be asked for a body', async () => {
    const head = `POST ${ACQUIRE} HTTP/1.1\r\nHost: localhost\r\nX-Nthpool-Key: wrong\r\n` +
      'Expect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n';
    const startedMs = performance.now();
    const text = await raw(head, (so) => so.includes(' 401 '), 3000);
    expect(statuses(text)).toEqual(['401']);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });

  it('that asked for the body to be asked for gets its slot', async () => {
    const head = `POST ${ACQUIRE} HTTP/1.1\r\n${
      headOf('Expect: 100-continue\r\nContent-Length: 2\r\n\r\n')
    }`;
    const socket = net.connect(port(), '127.0.0.1', () => socket.write(head));
    const text = await new Promise<string>((told) => {
      let so = '';
      socket.on('data', (chunk) => {
        so += String(chunk);
        if (/ 100 /.test(so) && !/ 200 /.test(so)) socket.write('{}');
        if (/ 200 /.test(so)) told(so);
      });
    });
    socket.destroy();
    expect(statuses(text)).toEqual(['100', '200']);
    await giveAllBack();
  });

  it('that is closed after the answer does not cost the slot', async () => {
    const one = await server.pool('closed', { concurrency: { limit: 1, mode: 'fixed' } });
    const head = (wait: number) =>
      `POST /pools/closed/lock/acquire HTTP/1.1\r\nHost: a\r\nX-Nthpool-Key: ${one.key}\r\n` +
      `X-Nthpool-Queue-Timeout-Ms: ${wait}\r\nContent-Length: 0\r\n\r\n`;
    const first = await raw(head(0), (so) => so.includes('slotId'));
    const waiting = raw(head(20_000), (so) => so.includes('slotId'), 20_000);
    await until('one waits', async () => (await one.status()).queued === 1);
    await one.release(/"slotId":"([^"]+)/.exec(first)?.[1] ?? '');
    const second = /"slotId":"([^"]+)/.exec(await waiting)?.[1] ?? '';
    await sleep(500);
    expect((await one.acquire()).status).toBe(429);
    expect((await one.renew(second)).status).toBe(200);
  });

  it('is kept after 504 and 429, and the next call on it works', async () => {
    const narrow = await server.pool('narrow', {
      concurrency: { limit: 1, mode: 'fixed' },
      queue: { maxDepth: 1 },
    });
    const { slotId } = await narrow.hold();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<net.Socket>();
    const ask = (headers: http.OutgoingHttpHeaders, body: string) =>
      new Promise<{ status: number; text: string; ms: number }>((done, fail) => {
        const startedMs = performance.now();
        const request = http.request(`${server.origin}/pools/narrow/lock/acquire`, {
          method: 'POST',
          agent,
          headers: { 'x-nthpool-key': narrow.key, ...headers },
        }, (answer) => {
          let text = '';
          answer.on('data', (chunk) => text += chunk);
          answer.on('end', () => {
            const ms = performance.now() - startedMs;
            done({ status: answer.statusCode ?? 0, text, ms });
          });
        });
        request.on('socket', (socket) => sockets.add(socket)).on('error', fail);
        request.end(body);
      });
    const byBody = await ask({}, '{"waitMs": 400}');
    const byHeader = await ask({ 'x-nthpool-queue-timeout-ms': '400' }, '');
    const both = await ask({ 'x-nthpool-queue-timeout-ms': '30000' }, '{"waitMs": 400}');
    for (const { status, text, ms } of [byBody, byHeader, both]) {
      expect(status).toBe(504);
      expect(JSON.parse(text).error).toBe('queue_timeout');
      expect(ms).toBeGreaterThanOrEqual(395);
      expect(ms).toBeLessThan(3000);
    }
    const waiting = narrow.acquire({ waitMs: 20_000 });
    await until('one waits', async () => (await narrow.status()).queued === 1);
    const full = await ask({}, '{"waitMs": 5000}');
    expect([full.status, JSON.parse(full.text).reason]).toEqual([429, 'queue_full']);
    expect(full.ms).toBeLessThan(2000);
    expect((await ask({ 'x-nthpool-no-queue': '1' }, '{"waitMs": 5000}')).status).toBe(429);
    await narrow.release(slotId);
    expect((await waiting).status).toBe(200);
    await narrow.release((await waiting).json.slotId);
    expect((await ask({}, '')).status).toBe(200);
    expect(sockets.size).toBe(1);
    agent.destroy();
  });
});

describe('many connections', () => {
  it('with half a head each keep nobody else from being answered', async () => {
    const sockets = Array.from({ length: 300 }, () => {
      const socket = net.connect(port(), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`POST ${ACQUIRE} HTTP/1.1\r\n${headOf('X: ')}`);
      return socket;
    });
    const startedMs = performance.now();
    expect((await server.call('GET', '/healthz')).status).toBe(200);
    expect(performance.now() - startedMs).toBeLessThan(2000);
    for (const socket of sockets) socket.destroy();
    expect((await pool.status()).inUse).toBe(0);
  });

  it('that are reset before they are taken hold nobody up', async () => {
    server.signal('SIGSTOP');
    const resets = Array.from({ length: 200 }, () =>
      new Promise<void>((done) => {
        const socket = net.connect(port(), '127.0.0.1', () => socket.resetAndDestroy());
        socket.on('error', () => {}).on('close', () => done());
      }));
    await Promise.all(resets);
    server.signal('SIGCONT');
    expect(statuses(await raw(`GET /healthz HTTP/1.1\r\n${headOf('\r\n')}`, hasAnswer))).toEqual([
      '200',
    ]);
  });

  it('of waiters that are reset leave the queue at once', async () => {
    const one = await server.pool('reset', { concurrency: { limit: 1, mode: 'fixed' } });
    await one.hold();
    const sockets = Array.from({ length: 500 }, () => {
      const socket = net.connect(port(), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `POST /pools/reset/lock/acquire HTTP/1.1\r\nHost: a\r\nX-Nthpool-Key: ${one.key}\r\n` +
          'X-Nthpool-Queue-Timeout-Ms: 30000\r\nContent-Length: 0\r\n\r\n',
      );
      return socket;
    });
    await until('all wait', async () => (await one.status()).queued === 500, 10_000);
    sockets.forEach((socket, i) => i % 2 === 0 ? socket.destroy() : socket.resetAndDestroy());
    await until('nobody waits', async () => (await one.status()).queued === 0, 3000);
    expect((await one.status()).inUse).toBe(1);
  });
});
