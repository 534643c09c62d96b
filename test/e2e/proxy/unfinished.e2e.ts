/**
 * An upstream that takes connections and leaves their TLS handshakes unfinished: the runtime keeps
 * such connections open, however long ago they were given up.
 */
import { readFileSync } from 'node:fs';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCertificate } from '../certificate.ts';
import { holds } from './raw.ts';
import { ProxyServer } from './server.ts';

const LEFT_MAX = 16;
const AT_ONCE = 8;

const server = new ProxyServer();
const open = new Set<Socket>();
let taken = 0;
let mostOpen = 0;
let isMute = true;
let upstream: ReturnType<typeof createSecureServer>;
const front = createServer((socket) => {
  taken++;
  open.add(socket);
  mostOpen = Math.max(mostOpen, open.size);
  socket.on('error', () => {}).on('close', () => open.delete(socket));
  if (isMute) socket.resume();
  else upstream.emit('connection', socket);
});

beforeAll(async () => {
  const made = makeCertificate(server.folder);
  upstream = createSecureServer(
    { key: readFileSync(made.key), cert: readFileSync(made.cert) },
    (_, response) => response.setHeader('connection', 'close').end('ok'),
  );
  await new Promise<void>((done) => front.listen(0, 'localhost', done));
  await server.start([], { DENO_CERT: made.cert });
  const url = `https://localhost:${(front.address() as AddressInfo).port}`;
  const limit = AT_ONCE;
  await server.pool('mute', 1, { limit, upstream: { url, connectTimeoutMs: 100 } });
  await server.pool('patient', 1, { limit, upstream: { url } });
});
afterAll(() => {
  for (const socket of open) socket.destroy();
  front.close();
});

const together = (count: number, pool: string) =>
  Promise.all(Array.from({ length: count }, () => server.call({ pool })));

describe('an upstream that leaves TLS handshakes unfinished', () => {
  it('is left a bounded number of connections, however many requests it times out', async () => {
    for (let round = 0; round < 8; round++) {
      for (const { status } of await together(AT_ONCE, 'mute')) expect(status).toBe(504);
    }
    expect(mostOpen).toBeLessThanOrEqual(LEFT_MAX + AT_ONCE);
    expect(await holds(() => open.size <= LEFT_MAX)).toBe(true);
    expect(await server.capacity('mute')).toBe(AT_ONCE);
  });

  it('is reached in the moment in which it speaks, before it has closed any of them', async () => {
    isMute = false;
    const answers = await together(AT_ONCE, 'patient');
    expect(answers.map(({ status, body }) => [status, body])).toEqual(
      answers.map(() => [200, 'ok']),
    );
    expect(open.size).toBeGreaterThanOrEqual(LEFT_MAX);
  });

  it('is dialled once a request where it has closed them', async () => {
    for (const socket of open) socket.destroy();
    expect(await holds(() => open.size === 0)).toBe(true);
    await vi.waitFor(async () => {
      taken = 0;
      expect((await server.call({ pool: 'patient' })).status).toBe(200);
      expect(taken).toBe(1);
    }, 5000);
  });
});
