/**
 * A stop while requests are proxied: what is under way comes to its end, who comes is told, and the
 * server ends well.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort, holds, plain, RawCaller, sleep } from './raw.ts';
import { stage } from './stage.ts';

const { server, upstream } = stage();
const HOST = 'Host: stop.localhost\r\n';
const GET = `GET /a HTTP/1.1\r\n${HOST}\r\n`;

beforeAll(async () => {
  await server.pool('stop', upstream.port, { limit: 1 });
});

describe('a stopped server', () => {
  it('lets a proxied request end when it is stopped', async () => {
    upstream.play = (socket) => void setTimeout(() => socket.write(plain('late')), 700);
    const one = new RawCaller(server.port).send(GET);
    await holds(() => upstream.requests.length === 1);
    const exit = server.kill('SIGTERM');
    expect(await one.until(/late/)).toContain('200 OK');
    one.close();
    expect(await exit).toBe(0);
    const told = server.output.match(/stopping: .*\n/g) ?? [];
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/: 1 request under way may take 4500 ms at most; a second signal ends/);
    await server.start();
    expect(await server.capacity('stop')).toBe(1);
  });

  it('answers on every port for as long as one of them has a request under way', async () => {
    const port = await freePort();
    await server.kill('SIGTERM');
    await server.start(['--pool-listen', `stop=127.0.0.1:${port}`]);
    upstream.play = (socket) => void setTimeout(() => socket.write(plain('late')), 1000);
    const one = new RawCaller(port).send('GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await holds(() => upstream.requests.length === 1);
    const exit = server.kill('SIGTERM');
    await sleep(400);
    const asked = new RawCaller(server.port);
    asked.send('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await asked.until(/"}$/)).toMatch(/^HTTP\/1\.1 503 [^]*shutting_down/);
    expect(await one.until(/late/)).toContain('200 OK');
    for (const caller of [one, asked]) caller.close();
    expect(await exit).toBe(0);
    await server.start();
    expect(await server.capacity('stop')).toBe(1);
  });

  it.each([
    ['in chunks', 'Transfer-Encoding: chunked', '3\r\nabc\r\n', '0\r\n\r\n'],
    ['of a length', 'Content-Length: 30', 'abc', ''],
  ])(
    'lets an upload %s end at a stop, and admits no other',
    async (_, line, piece, end) => {
      upstream.play = (socket, request) => {
        const timer = setInterval(() => {
          if (request.body.match(/abc/g)?.length !== 10) return;
          clearInterval(timer);
          socket.write(plain('whole'));
        }, 5);
      };
      const one = new RawCaller(server.port).send(
        `POST /a HTTP/1.1\r\n${HOST}${line}\r\n\r\n${piece}`,
      );
      await holds(() => upstream.requests.length === 1);
      const exit = server.kill('SIGTERM');
      for (let sent = 1; sent < 10; sent++) {
        await sleep(100);
        one.send(piece);
        if (sent === 5) expect((await server.call({ pool: 'stop' })).status).toBe(503);
      }
      one.send(end);
      expect(await one.until(/whole/)).toContain('200 OK');
      one.close();
      expect(await exit).toBe(0);
      expect(upstream.requests).toHaveLength(1);
      await server.start();
      expect(await server.capacity('stop')).toBe(1);
    },
  );
});
