/**
 * Answers through the proxy byte for byte, fuzzed: heads, bodies, encodings, redirects, statuses
 * without a body, and what is left out of them; large bodies and 100-continue.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answering,
  echoing,
  holds,
  plain,
  type Play,
  RawCaller,
  sleep,
  unchunked,
  whenCame,
} from './raw.ts';
import { echoStage, HOST, name, value } from './stage.ts';

const { server, upstream, through } = echoStage();

function headersOf(received: string): string[] {
  return received.split('\r\n\r\n')[0]?.split('\r\n').slice(1) ?? [];
}

describe('an answer', () => {
  it('keeps its headers, in their order and case, and its body', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, value), { maxLength: 12 }),
        fc.uint8Array({ maxLength: 2000 }),
        fc.constantFrom('length', 'chunked'),
        fc.constantFrom(0, 1),
        async (headers, bytes, framing, minor) => {
          const body = Buffer.from(bytes).toString('latin1');
          const lines = headers.map(([each, text]) => `${each}: ${text}\r\n`).join('');
          const half = body.length >> 1;
          const chunks = [body.slice(0, half), body.slice(half), ''].filter((text, at) =>
            text !== '' || at === 2
          ).map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('');
          upstream.play = answering(
            framing === 'length'
              ? `HTTP/1.1 200 OK\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`
              : `HTTP/1.1 200 OK\r\n${lines}transfer-encoding: chunked\r\n\r\n${chunks}`,
          );
          const caller = new RawCaller(server.port);
          caller.send(`GET / HTTP/1.${minor}\r\n${HOST}Connection: close\r\n\r\n`);
          const received = await caller.until('ended');
          const rest = received.slice(received.indexOf('\r\n\r\n') + 4);
          expect(framing === 'chunked' && minor === 1 ? unchunked(rest) : rest).toBe(body);
          const own = /^(x-nthpool-|content-length: |connection: close$|transfer-encoding: )/;
          expect(headersOf(received).filter((line) => !own.test(line))).toEqual(
            headers.map(([each, text]) => `${each}: ${text}`),
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each(['Fine by me', '', 'caf\xe9 \x80'])('keeps its reason phrase: "%s"', async (reason) => {
    upstream.play = answering(`HTTP/1.1 299 ${reason}\r\ncontent-length: 2\r\n\r\nok`);
    const { received } = await through(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    expect(received.split('\r\n')[0]).toBe(`HTTP/1.1 299 ${reason}`);
  });

  it.each([600, 999])('has a status of any three digits: %i', async (status) => {
    upstream.play = answering(`HTTP/1.1 ${status} Request denied\r\ncontent-length: 2\r\n\r\nok`);
    expect(await server.call({ pool: 'echo' })).toMatchObject({ status, body: 'ok' });
  });

  it('has a Date where the upstream gave one; one of our own always does', async () => {
    const date = 'Date: Sun, 06 Nov 1994 08:49:37 GMT';
    for (const lines of ['', `${date}\r\n`]) {
      upstream.play = answering(plain('ok', lines));
      const { received } = await through(`GET / HTTP/1.1\r\n${HOST}\r\n`);
      expect(received.match(/^date: .*$/gim) ?? []).toEqual(lines === '' ? [] : [date]);
    }
    const own = await server.call({ pool: 'echo', headers: { 'x-nthpool-queue-timeout-ms': '-' } });
    expect(own.status).toBe(400);
    expect(Math.abs(Date.parse(String(own.headers['date'])) - Date.now())).toBeLessThan(5000);
  });

  it('loses what was meant for one hop, what is ours, and cookies for our domain', async () => {
    upstream.play = answering(plain(
      'ok',
      'Connection: X-Up, keep-alive\r\nX-Up: 1\r\nKeep-Alive: timeout=5\r\nTrailer: X\r\n' +
        'X-Nthpool-Error: fake\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; Domain=example.com\r\n' +
        'Set-Cookie: c=3; domain=.localhost\r\nSet-Cookie: nthbouncer=x\r\nX-Kept: 1\r\n',
    ));
    const { received } = await through(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    const kept = headersOf(received).filter((line) => !/^(x-nthpool-|content-l)/.test(line));
    expect(kept).toEqual(['Set-Cookie: a=1', 'Set-Cookie: b=2; Domain=example.com', 'X-Kept: 1']);
    expect(received).not.toMatch(/x-nthpool-error/i);
    expect(received).toContain('x-nthpool-remaining-slots: 3');
  });

  it.each(['gzip', 'br', 'deflate, gzip', 'zstd'])('stays encoded: %s', async (coding) => {
    const lines = `content-encoding: ${coding}\r\ncontent-type: application/json\r\n`;
    upstream.play = answering(plain('\x1f\x8bnot really', lines));
    for (const accept of ['', 'Accept-Encoding: gzip, br\r\n']) {
      const text = `GET / HTTP/1.1\r\n${HOST}${accept}\r\n`;
      const { received, headers } = await through(text, /not really$/);
      expect(received).toContain(`content-encoding: ${coding}\r\n`);
      expect(received).toContain('\r\n\r\n\x1f\x8bnot really');
      expect(headers.filter((line) => /^accept-encoding/i.test(line))).toEqual(
        accept === '' ? [] : [accept.trimEnd()],
      );
      upstream.requests.length = 0;
    }
  });

  it('is not compressed on the way', async () => {
    upstream.play = answering(plain('a'.repeat(5000), 'content-type: text/html\r\n'));
    const text = `GET / HTTP/1.1\r\n${HOST}Accept-Encoding: gzip\r\n\r\n`;
    expect((await through(text, /a{5000}$/)).received).toContain('content-length: 5000');
  });

  it.each([301, 302, 303, 307, 308])('%i is passed on, not followed', async (status) => {
    upstream.play = answering(
      `HTTP/1.1 ${status} X\r\nlocation: //evil.test/\r\ncontent-length: 0\r\n\r\n`,
    );
    const answer = await server.call({ pool: 'echo' });
    expect(answer).toMatchObject({ status, headers: { location: '//evil.test/' } });
    expect(upstream.requests).toHaveLength(1);
  });

  it.each([
    ['204', 'HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n', 204],
    ['304', 'HTTP/1.1 304 Not Modified\r\nx-a: 1\r\netag: "a"\r\ncontent-length: 9\r\n\r\n', 304],
    ['205', 'HTTP/1.1 205 Reset\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n', 205],
    ['200 without a body', 'HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n', 200],
    ['103 and 200', `HTTP/1.1 103 Early\r\nlink: x\r\n\r\n${plain('', 'x-a: 1\r\n')}`, 200],
  ])('%s keeps its status and headers, without a body', async (_, text, status) => {
    upstream.play = answering(text);
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const answer = await server.call({ pool: 'echo', method });
      expect(answer).toMatchObject({ status, body: '', headers: { 'x-a': '1' } });
    }
    expect(upstream.sockets.size).toBe(1);
    expect(await server.capacity('echo')).toBe(4);
  });

  it('of 304 keeps the length of what it stands for', async () => {
    upstream.play = answering('HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n');
    const { received } = await through(`GET / HTTP/1.1\r\n${HOST}\r\n`, /\r\n\r\n$/);
    expect(headersOf(received).filter((line) => /^(content-l|transfer)/.test(line))).toEqual(
      ['content-length: 9'],
    );
  });

  it('to HEAD has its length and no body', async () => {
    upstream.play = answering('HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n');
    const answer = await server.call({ pool: 'echo', method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-length': '5000000' } });
    expect((await server.call({ pool: 'echo', method: 'HEAD' })).status).toBe(200);
  });

  it('to HEAD without a length gets none', async () => {
    for (const line of ['', 'transfer-encoding: chunked\r\n', 'content-length: 5, 5\r\n']) {
      upstream.play = answering(`HTTP/1.1 200 OK\r\n${line}\r\n`);
      const { headers } = await server.call({ pool: 'echo', method: 'HEAD' });
      expect(headers).not.toHaveProperty('content-length');
    }
    expect(await server.capacity('echo')).toBe(4);
  });

  it('that ends with the connection is whole', async () => {
    upstream.play = (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nto the end');
    expect(await server.call({ pool: 'echo' })).toMatchObject({ status: 200, body: 'to the end' });
  });

  it.each([['a short', 2], ['a long', 300_000]])(
    'never goes to the request after it, where it followed %s answer unasked',
    async (_, size) => {
      await server.pool('next', upstream.port, { limit: 1 });
      // Many wait for the one slot, and are sent on in the moment in which it is given back.
      upstream.play = (socket, { head }) => {
        const body = head.split(' ')[1]?.padEnd(size, '.') ?? '';
        socket.write(plain(body) + plain('poison'));
      };
      const asked = Array.from({ length: 10 }, (_, at) => `/${at}`);
      const answers = await Promise.all(
        asked.map((path) => server.call({ pool: 'next', path })),
      );
      expect(answers.map(({ body }) => body.replaceAll('.', ''))).toEqual(asked);
      expect(await server.capacity('next')).toBe(1);
      await server.admin('DELETE', '/pools/next');
    },
  );

  it('that comes unasked on an idle connection goes to nobody', async () => {
    upstream.play = (socket) => {
      socket.write(plain('ok'));
      setTimeout(() => socket.write(plain('poison')), 20);
    };
    for (let round = 0; round < 5; round++) {
      expect((await server.call({ pool: 'echo' })).body).toBe('ok');
      await sleep(60);
    }
  });
});

describe('large bodies', () => {
  it('of 5 MB pass both ways', async () => {
    const body = Buffer.alloc(5_000_000, 'abcdefg').toString('latin1');
    upstream.play = echoing(body.length);
    const answer = await server.call({ pool: 'echo', method: 'PUT', body });
    expect(answer.body === body).toBe(true);
  });

  it('that pass at once never mix', async () => {
    const size = 3_000_000;
    upstream.play = echoing(size);
    const letters = ['a', 'b', 'c', 'd'];
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(letters.map((letter) => {
        return server.call({ pool: 'echo', method: 'PUT', body: letter.repeat(size) });
      }));
      const isOwn = answers.map(({ body }, at) => body === letters[at]?.repeat(size));
      expect(isOwn).toEqual([true, true, true, true]);
    }
  });

  it('whose answer begins before they end go on to their end', async () => {
    const size = 5_000_000;
    upstream.play = (socket, request) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nearly\r\n');
      whenCame(request, size, () => socket.write('4\r\nlate\r\n0\r\n\r\n'));
    };
    const answer = await server.call({ pool: 'echo', method: 'POST', body: 'x'.repeat(size) });
    expect(answer.body).toBe('earlylate');
  });

  it.each([
    ['of a length', 'Content-Length: 10', 'half ', 'other'],
    ['in chunks', 'Transfer-Encoding: chunked', '5\r\nhalf ', '\r\n5\r\nother\r\n0\r\n\r\n'],
  ])('%s that are answered before their end swallow no request behind it', async (...body) => {
    const [, framing, half, rest] = body;
    const caller = new RawCaller(server.port);
    caller.send(`POST /first HTTP/1.1\r\n${HOST}${framing}\r\n\r\n${half}`);
    await caller.until(/ok$/);
    caller.send(`${rest}GET /second HTTP/1.1\r\n${HOST}\r\n`);
    if (framing.startsWith('C')) await caller.until(/( 200 [^]*){2}ok$/);
    else expect(await caller.until('ended')).toContain('connection: close');
    const paths = upstream.requests.map(({ head }) => head.split(' ')[1]);
    expect(paths).toEqual(['/base/first', ...framing.startsWith('C') ? ['/base/second'] : []]);
    caller.close();
  });

  it('that the upstream refuses at once are answered so', async () => {
    upstream.play = answering(
      'HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig',
    );
    const caller = new RawCaller(server.port);
    caller.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 20000000\r\n\r\n${'x'.repeat(100_000)}`);
    expect(await caller.until(/big$/)).toMatch(/HTTP\/1\.1 413/);
    caller.close();
    expect(await server.capacityWithin('echo', 4)).toBe(4);
  });
});

describe('Expect: 100-continue', () => {
  const ASKING = `PUT / HTTP/1.1\r\n${HOST}Content-Length: 4\r\nExpect: 100-continue\r\n\r\n`;
  const afterBody: Play = async (socket, request) => {
    await holds(() => request.body === 'body');
    socket.write(plain());
  };

  it('is answered when the body is wanted, and the body follows', async () => {
    upstream.play = afterBody;
    const caller = new RawCaller(server.port).send(ASKING);
    await caller.until(/100 Continue/);
    caller.send('body');
    expect(await caller.until(/ok$/)).toContain('200 OK');
    expect(upstream.requests[0]?.body).toBe('body');
    caller.close();
  });

  it('is not answered while the request waits for a slot, nor where it is refused', async () => {
    upstream.play = afterBody;
    await server.admin('POST', '/pools/echo/pause', {});
    const refused = new RawCaller(server.port);
    refused.send(ASKING.replace('Expect', 'X-Nthpool-No-Queue: 1\r\nExpect'));
    // The body may or may not follow, so that nothing can come after it.
    expect(await refused.until('ended')).toMatch(/^HTTP\/1\.1 429 [^]*\r\nconnection: close\r\n/);
    const waiting = new RawCaller(server.port).send(ASKING);
    await sleep(300);
    expect(waiting.received).toBe('');
    await server.admin('POST', '/pools/echo/resume');
    await waiting.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    waiting.send('body');
    expect(await waiting.until(/ok$/)).toContain('200 OK');
    expect(upstream.requests.map(({ body }) => body)).toEqual(['body']);
    for (const caller of [refused, waiting]) caller.close();
  });
});
