/**
 * An upstream behind TLS, and one whose certificate nobody vouches for.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../certificate.ts';
import { holds } from './raw.ts';
import { ProxyServer } from './server.ts';

const server = new ProxyServer();
let cert = '';
let upstream: ReturnType<typeof createServer>;

beforeAll(async () => {
  const made = makeCertificate(server.folder);
  cert = made.cert;
  upstream = createServer(
    { key: readFileSync(made.key), cert: readFileSync(cert) },
    (request, response) => response.end(`${request.method} ${request.headers.host}`),
  );
  await new Promise<void>((done) => upstream.listen(0, 'localhost', done));
});
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
});

describe('an upstream behind TLS', () => {
  const url = () => `https://localhost:${(upstream.address() as AddressInfo).port}`;

  it('is reached where its certificate is trusted', async () => {
    await server.start([], { DENO_CERT: cert });
    await server.pool('tls', 1, { limit: 1, upstream: { url: url() } });
    for (const method of ['GET', 'PUT']) {
      const answer = await server.call({ pool: 'tls', method });
      expect(answer.body).toBe(`${method} ${url().slice(8)}`);
    }
    expect(await server.capacity('tls')).toBe(1);
  });

  it('is told the name that it is asked by, and must prove that one', async () => {
    const names: unknown[] = [];
    upstream.on('secureConnection', ({ servername }) => void names.push(servername));
    upstream.closeIdleConnections();
    expect((await server.call({ pool: 'tls' })).status).toBe(200);
    expect(names).toEqual(['localhost']);
    const { address, port } = upstream.address() as AddressInfo;
    const bare = address.includes(':') ? `[${address}]` : address;
    await server.pool('tls-ip', 1, { limit: 1, upstream: { url: `https://${bare}:${port}` } });
    const answer = await server.call({ pool: 'tls-ip' });
    expect([answer.status, JSON.parse(answer.body).message]).toEqual([
      502,
      expect.stringContaining('TLS'),
    ]);
  });

  it('that cannot prove itself costs no connection that stays open', async () => {
    let open = 0;
    const liar = createPlainServer((socket) => {
      open++;
      socket.on('error', () => {}).on('close', () => open--);
      // It would take anything for long: only the other side can close.
      socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    await new Promise<void>((done) => liar.listen(0, '127.0.0.1', done));
    const { port } = liar.address() as AddressInfo;
    await server.pool('liar', 1, { limit: 4, upstream: { url: `https://127.0.0.1:${port}` } });
    for (let asked = 0; asked < 5; asked++) {
      expect((await server.call({ pool: 'liar' })).status).toBe(502);
    }
    expect(await holds(() => open === 0, 3000)).toBe(true);
    liar.close();
  });

  it('is asked once, on a new connection, where it closed an idle one', async () => {
    let asked = 0;
    upstream.on('request', () => void asked++);
    for (let round = 1; round <= 5; round++) {
      expect((await server.call({ pool: 'tls', method: 'POST', body: 'x' })).status).toBe(200);
      expect(asked).toBe(round);
      upstream.closeIdleConnections();
      await new Promise((done) => setTimeout(done, 50));
    }
    expect(await server.capacity('tls')).toBe(1);
  });

  it('is not reached where it is not: 502 that says so', async () => {
    await server.kill('SIGTERM');
    await server.start();
    const answer = await server.call({ pool: 'tls' });
    expect(answer).toMatchObject({ status: 502 });
    expect(JSON.parse(answer.body).message).toContain('TLS');
    expect(await server.capacity('tls')).toBe(1);
  });
});
