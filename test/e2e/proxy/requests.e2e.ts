/**
 * What goes through the proxy byte for byte, and what does not go through at all: heads and bodies
 * against an upstream that records what it got, fuzzed, and attempts to smuggle a second request.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answering, holds, plain, RawCaller } from './raw.ts';
import { echoStage, HOST, name, value } from './stage.ts';

const { server, upstream, through } = echoStage();

const target = fc.string({
  unit: fc.constantFrom(...'abz09/%2F.-_~!$&\'()*+,;=:@?{}|^`"<>[]\\'.split('')),
  maxLength: 40,
});

describe('a request', () => {
  it('keeps its path, its headers in their order and case, and its body', async () => {
    await fc.assert(
      fc.asyncProperty(
        target,
        fc.array(fc.tuple(name, value), { maxLength: 12 }),
        fc.uint8Array({ maxLength: 300 }),
        async (path, headers, bytes) => {
          upstream.requests.length = 0;
          const body = Buffer.from(bytes).toString('latin1');
          const lines = headers.map(([each, text]) => `${each}: ${text}\r\n`).join('');
          const got = await through(
            `POST /${path} HTTP/1.1\r\n${HOST}${lines}` +
              `Content-Length: ${body.length}\r\n\r\n${body}`,
          );
          expect(got.line).toBe(`POST /base/${path} HTTP/1.1`);
          expect(got.body).toBe(body);
          expect(got.headers).toEqual([
            `host: 127.0.0.1:${upstream.port}`,
            ...headers.map(([each, text]) => `${each}: ${text}`),
            `content-length: ${body.length}`,
          ]);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('keeps repeated headers in order, in whatever case, and values of 8 KB', async () => {
    const text = fc.oneof(value, fc.constant('\xe9'.repeat(4000)), fc.constant('v'.repeat(8000)))
      .filter((each) => each !== '');
    const some = fc.array(fc.tuple(fc.constantFrom('zA', 'Za', 'ZB', 'zb', 'zc'), text), {
      maxLength: 6,
    }).filter((lines) => lines.reduce((sum, [, each]) => sum + each.length, 0) < 14_000);
    await fc.assert(
      fc.asyncProperty(some, async (lines) => {
        upstream.requests.length = 0;
        const got = await through(
          `DELETE /r HTTP/1.1\r\n${HOST}${
            lines.map((line) => `${line.join(':')}\r\n`).join('')
          }\r\n`,
        );
        expect(got.headers.filter((line) => /^z/i.test(line))).toEqual(
          lines.map((line) => line.join(': ')),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('keeps long headers, and repeated ones as lines of their own', async () => {
    const long = 'v'.repeat(8000);
    const got = await through(
      `GET / HTTP/1.1\r\n${HOST}A: 1\r\na: 2\r\nCookie: x=1\r\nCookie: y=2\r\nL: ${long}\r\n\r\n`,
    );
    const [, ...lines] = got.headers;
    expect(lines).toEqual(['A: 1', 'a: 2', 'Cookie: x=1', 'Cookie: y=2', `L: ${long}`]);
  });

  it('leaves out what was meant for this hop or this server, and adds nothing', async () => {
    const got = await through(
      `GET / HTTP/1.1\r\n${HOST}Connection: X-Drop-Me, TE\r\nX-Drop-Me: 1\r\nTE: trailers\r\n` +
        'Keep-Alive: 1\r\nProxy-Authorization: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n' +
        'X-Nthpool-Queue-Timeout-Ms: 5\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=x\r\n' +
        'X-Real-IP: 1.2.3.4\r\nCf-Access-Jwt-Assertion: x\r\nCf-Ray: kept\r\n' +
        'Cookie: a=1; CF_Authorization=secret; b=2\r\nAuthorization: Bearer sk-own\r\n' +
        'Expect-CT: kept\r\nX-Own: kept\r\n\r\n',
    );
    expect(got.headers).toEqual([
      `host: 127.0.0.1:${upstream.port}`,
      'Cf-Ray: kept',
      'Cookie: a=1; b=2',
      'Authorization: Bearer sk-own',
      'Expect-CT: kept',
      'X-Own: kept',
    ]);
  });

  it('with a chunked body is sent in chunks', async () => {
    const got = await through(
      `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n` +
        '3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n',
    );
    const content = [...got.body.matchAll(/([0-9a-f]+)\r\n(.*?)\r\n/g)].map(([, , text]) => text);
    expect(content.join('')).toBe('abcde');
    expect(got.headers).toContain('transfer-encoding: chunked');
  });
});

describe('attempts to smuggle', () => {
  const second = `GET /second HTTP/1.1\r\n${HOST}\r\n`;
  it.each([
    ['both framings', `${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${HOST}Content-Length: 0\r\nContent-Length: 40\r\n\r\n`],
    ['a list of lengths', `${HOST}Content-Length: 0, 40\r\n\r\n`],
    ['a signed length', `${HOST}Content-Length: +0\r\n\r\n`],
    ['blanks before a colon', `${HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['an unknown coding', `${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a coding before chunked', `${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a bare CR', `${HOST}X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a folded line', `${HOST}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ])('by %s are a bad request, and nothing behind it is one', async (_, rest) => {
    const caller = new RawCaller(server.port).send(`POST /first HTTP/1.1\r\n${rest}${second}`);
    const received = await caller.until('ended');
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*\r\nx-nthpool-error: invalid_request\r\n/);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(upstream.requests).toHaveLength(0);
    expect(await server.capacityWithin('echo', 4)).toBe(4);
  });

  it.each([
    ['two hosts', `${HOST}Host: other.localhost\r\nContent-Length: 0\r\n\r\n`],
    ['two hosts in one line', 'Host: echo.localhost, b.localhost\r\nContent-Length: 0\r\n\r\n'],
    ['a path in the host', 'Host: echo.localhost/x\r\nContent-Length: 0\r\n\r\n'],
  ])('by %s are a bad request, and the next is one of its own', async (_, rest) => {
    const caller = new RawCaller(server.port).send(`POST /first HTTP/1.1\r\n${rest}${second}`);
    expect(await caller.until(/ok$/)).toMatch(
      /^HTTP\/1\.1 400 [^]*\r\nx-nthpool-error: invalid_request\r\n[^]*\}HTTP\/1\.1 200 /,
    );
    expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/base/second']);
    caller.close();
  });

  it.each([
    ['size', '0x0\r\n\r\n'],
    ['end', '3\r\nabcd\r\n0\r\n\r\n'],
  ])('by a bad %s of a chunk end the request on both sides', async (_, body) => {
    upstream.play = () => {};
    const head = `POST /first HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`;
    const caller = new RawCaller(server.port).send(head + body + second);
    const received = await caller.until('ended');
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*\r\nx-nthpool-error: invalid_request\r\n/);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(await holds(() => upstream.sockets.size === 0)).toBe(true);
    expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/base/first']);
    expect(upstream.requests[0]?.body).not.toMatch(/0\r\n\r\n$/);
    expect(await server.capacityWithin('echo', 4)).toBe(4);
  });

  it.each([
    ['GET', 'of a length', 'Content-Length: 5', 'abcde'],
    ['HEAD', 'of a length', 'Content-Length: 5', 'abcde'],
    ['GET', 'in chunks', 'Transfer-Encoding: chunked', '5\r\nabcde\r\n0\r\n\r\n'],
  ])('by a body with %s %s: it goes on as one', async (method, _, framing, body) => {
    upstream.play = (socket, { head }) =>
      void socket.write(plain(head.startsWith('H') ? '' : 'ok'));
    const text = `${method} /first HTTP/1.1\r\n${HOST}${framing}\r\n\r\n${body}${second}`;
    const caller = new RawCaller(server.port).send(text);
    expect((await caller.until(/( 200 [^]*){2}ok$/)).match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
    expect(upstream.requests.map(({ head, body }) => [head.split(' ')[1], body])).toEqual([
      ['/base/first', body],
      ['/base/second', ''],
    ]);
    expect(upstream.requests[0]?.head.toLowerCase()).toContain(`\r\n${framing.toLowerCase()}\r\n`);
    caller.close();
  });

  it.each(['/a', 'x.test:443', '*'])('by CONNECT to %s: 400', async (target) => {
    const caller = new RawCaller(server.port).send(`CONNECT ${target} HTTP/1.1\r\n${HOST}\r\n`);
    expect(await caller.until(/}$/)).toMatch(/^HTTP\/1\.1 400/);
    expect(upstream.requests).toHaveLength(0);
    caller.close();
  });

  it('by a target that names another host: 400', async () => {
    const text = 'GET http://other.localhost/ HTTP/1.1\r\n' + HOST + '\r\n';
    const caller = new RawCaller(server.port).send(text);
    expect(await caller.until(/}$/)).toMatch(/^HTTP\/1\.1 400/);
    expect(upstream.requests).toHaveLength(0);
    caller.close();
  });
});

describe('HTTP/2', () => {
  it('is not spoken: its preface is a bad request, and nothing behind it is one', async () => {
    const preface = `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n${HOST}\r\n`;
    const caller = new RawCaller(server.port).send(preface);
    const received = await caller.until('ended');
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*\r\nx-nthpool-error: invalid_request\r\n/);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('a caller of HTTP/1.0', () => {
  const ask = (lines = '') => `GET / HTTP/1.0\r\n${HOST}${lines}\r\n`;

  it('gets no chunks: the end of the connection ends the body', async () => {
    upstream.play = answering(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    );
    const caller = new RawCaller(server.port).send(ask('Connection: keep-alive\r\n'));
    const received = await caller.until('ended');
    expect(received).toMatch(/\r\nconnection: close\r\n\r\nabc$/);
    expect(received).not.toMatch(/transfer-encoding|content-length/);
  });

  it('keeps its connection where it asks for that and the answer has a length', async () => {
    const caller = new RawCaller(server.port);
    for (const body of ['one', 'two']) {
      upstream.play = answering(plain(body));
      caller.send(ask('Connection: Keep-Alive\r\n'));
      const received = await caller.until(new RegExp(`${body}$`));
      expect(received.match(/\r\nconnection: keep-alive\r\n/g)).toHaveLength(
        body === 'one' ? 1 : 2,
      );
    }
    caller.send(ask());
    expect(await caller.until('ended')).toMatch(/two[^]*\r\nconnection: close\r\n/);
    expect(upstream.requests).toHaveLength(3);
  });
});

describe('methods', () => {
  it('that would open a tunnel, or show a credential, go nowhere', async () => {
    const connect = await through(`CONNECT echo.localhost:80 HTTP/1.1\r\n${HOST}\r\n`, /\}$/);
    expect(connect.received).toMatch(/^HTTP\/1\.1 400 /);
    expect((await through(`TRACE /a HTTP/1.1\r\n${HOST}\r\n`)).line).toBe('TRACE /base/a HTTP/1.1');
    upstream.requests.length = 0;
    await server.pool('traced', upstream.port, {
      upstream: { credentials: [{ name: 'a', header: 'x-api-key', value: 'secret-a' }] },
    });
    for (const method of ['TRACE', 'trace', 'TRACK']) {
      const trace = new RawCaller(server.port);
      trace.send(`${method} / HTTP/1.1\r\nHost: traced.localhost\r\n\r\n`);
      expect(await trace.until(/}$/)).toMatch(/^HTTP\/1\.1 400 [^]*error: invalid_request/);
      trace.close();
    }
    expect(upstream.requests).toHaveLength(0);
  });
});

describe("a caller's key", () => {
  it.each([
    ['lists every carrier', { authorization: ['Nthbouncer', 'Basic'], headers: ['x-api-key'] }],
    ['lists none', {}],
  ])('reaches no upstream in any place where the pool %s', async (what, settings) => {
    const pool = what === 'lists none' ? 'plain-key' : 'all-keys';
    await server.admin('POST', '/pools', {
      name: pool,
      access: { key: settings },
      upstream: { url: `http://127.0.0.1:${upstream.port}` },
    });
    const { key } = await server.admin('POST', `/pools/${pool}/keys`, { name: 'k' });
    const basic = Buffer.from(`user:${key}`).toString('base64');
    const { status } = await server.call({
      pool,
      headers: {
        'x-nthpool-key': String(key),
        authorization: `Basic ${basic}`,
        'x-api-key': String(key),
        'x-other': `Bearer ${key}`,
        'x-kept': 'nb_live_of_another_server_0000000000',
        cookie: `a=1; b=${key}; c=3`,
      },
    });
    expect(status).toBe(200);
    const { head } = upstream.requests[0] as { head: string };
    expect(head).not.toContain(String(key));
    expect(head).not.toContain(basic);
    expect(head).toContain('x-kept: nb_live_of_another_server_0000000000\r\n');
    expect(head).toContain('cookie: a=1; c=3\r\n');
  });
});
