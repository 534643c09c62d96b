/**
 * What goes through the proxy byte for byte, and what does not go through at all: heads and bodies
 * against an upstream that records what it got, fuzzed, and attempts to smuggle a second request.
 */
import fc from 'fast-check';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { holds, plain, RawCaller } from './raw.ts';
import { echoStage, HOST, name, value } from './stage.ts';

const { server, upstream, through } = echoStage();

const target = fc.string({
  unit: fc.constantFrom(...'abz09/%2F.-_~!$&\'()*+,;=:@?{}|^`"<>[]\\'.split('')),
  maxLength: 40,
});

describe('a request', () => {
  it('keeps its path, headers and body', async () => {
    await fc.assert(
      fc.asyncProperty(
        target,
        fc.uniqueArray(fc.tuple(name, value), {
          maxLength: 12,
          selector: ([each]) => each.toLowerCase(),
        }),
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
          expect(got.headers.toSorted()).toEqual([
            `host: 127.0.0.1:${upstream.port}`,
            `content-length: ${body.length}`,
            ...headers.map(([each, text]) => `${each.toLowerCase()}: ${text}`),
          ].toSorted());
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
        const wanted = new Map<string, string>();
        for (const [each, one] of lines) {
          const name = each.toLowerCase();
          const before = wanted.get(name);
          wanted.set(name, before === undefined ? one : `${before}, ${one}`);
        }
        expect(got.headers.filter((line) => line.startsWith('z')).toSorted()).toEqual(
          [...wanted].map((line) => line.join(': ')).toSorted(),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('keeps long headers, and repeated ones joined in order', async () => {
    const long = 'v'.repeat(8000);
    const got = await through(
      `GET / HTTP/1.1\r\n${HOST}A: 1\r\na: 2\r\nCookie: x=1\r\nCookie: y=2\r\nL: ${long}\r\n\r\n`,
    );
    expect(got.headers).toContain('a: 1, 2');
    expect(got.headers).toContain('cookie: x=1; y=2');
    expect(got.headers).toContain(`l: ${long}`);
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
    expect(got.headers.toSorted()).toEqual([
      'authorization: Bearer sk-own',
      'cf-ray: kept',
      'cookie: a=1; b=2',
      'expect-ct: kept',
      `host: 127.0.0.1:${upstream.port}`,
      'x-own: kept',
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
    ['a bad chunk size', `${HOST}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n`],
    ['a bare CR', `${HOST}X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a folded line', `${HOST}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two hosts', `${HOST}Host: other.localhost\r\nContent-Length: 0\r\n\r\n`],
    ['two hosts in one line', 'Host: echo.localhost, b.localhost\r\nContent-Length: 0\r\n\r\n'],
    ['a path in the host', 'Host: echo.localhost/x\r\nContent-Length: 0\r\n\r\n'],
  ])('by %s never reach the upstream as more than was asked', async (_, rest) => {
    const caller = new RawCaller(server.port).send(`POST /first HTTP/1.1\r\n${rest}${second}`);
    await holds(() => /^HTTP\/1\.1 [45]/.test(caller.received) || caller.ended !== null, 1000);
    expect(caller.received).not.toMatch(/^HTTP\/1\.1 2/);
    const paths = upstream.requests.map(({ head }) => head.split(' ')[1]);
    expect(paths.filter((path) => path === '/base/first')).toHaveLength(
      upstream.requests.length === 0 ? 0 : paths.includes('/base/first') ? 1 : 0,
    );
    expect(paths.every((path) => path === '/base/first' || path === '/base/second')).toBe(true);
    caller.close();
    expect(await server.capacityWithin('echo', 4)).toBe(4);
  });

  it.each([
    ['GET', 'Content-Length: 5\r\n\r\nabcde'],
    ['HEAD', 'Content-Length: 5\r\n\r\nabcde'],
    ['GET', 'Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n'],
  ])('by a body with %s, which the runtime hides: 400', async (method, rest) => {
    const text = `${method} /first HTTP/1.1\r\n${HOST}${rest}${second}`;
    const caller = new RawCaller(server.port).send(text);
    expect(await caller.until(/\r\n\r\nok$/)).toMatch(/^HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 /);
    expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/base/second']);
    caller.close();
  });

  it('by a target that names another host: 400', async () => {
    const text = 'GET http://other.localhost/ HTTP/1.1\r\n' + HOST + '\r\n';
    const caller = new RawCaller(server.port).send(text);
    expect(await caller.until(/"}$/)).toMatch(/^HTTP\/1\.1 400/);
    expect(upstream.requests).toHaveLength(0);
    caller.close();
  });
});

describe('HTTP/2', () => {
  const curl = async (...args: string[]) => {
    const url = `http://echo.localhost:${server.port}/up`;
    const all = ['-sS', '--max-time', '10', '--http2-prior-knowledge', ...args, url];
    const to = `echo.localhost:${server.port}:127.0.0.1`;
    return (await promisify(execFile)('curl', ['--resolve', to, ...all])).stdout;
  };

  it('carries a body without a length', async () => {
    upstream.play = async (socket, request) => {
      await holds(() => request.body !== '');
      socket.write(plain());
    };
    expect(await curl('-X', 'PUT', '-d', 'whole body', '-H', 'content-length:')).toBe('ok');
    const [request] = upstream.requests;
    expect(request?.head).toMatch(/\r\ntransfer-encoding: chunked\r\n/);
    expect(request?.body).toBe('a\r\nwhole body\r\n0\r\n\r\n');
  });

  it.each(['POST', 'DELETE'])('sends %s without a body on without framing', async (method) => {
    for (let round = 1; round <= 5; round++) {
      expect(await curl('-X', method)).toBe('ok');
      expect(upstream.requests).toHaveLength(round);
      const { head } = upstream.requests.at(-1) as { head: string };
      expect(head).not.toMatch(/transfer-encoding|content-length/);
    }
    expect(await server.capacity('echo')).toBe(4);
  });

  it('carries no body where there is none, and cookies as one', async () => {
    expect(await curl('-H', 'cookie: a=1', '-H', 'cookie: b=2')).toBe('ok');
    expect(upstream.requests[0]?.head).toMatch(/\r\ncookie: a=1; b=2\r\n/);
    expect(upstream.requests[0]?.head).not.toMatch(/transfer-encoding|content-length/);
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
      expect(await trace.until(/"}$/)).toMatch(/^HTTP\/1\.1 400 [^]*error: invalid_request/);
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
