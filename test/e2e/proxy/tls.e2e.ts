/**
 * An upstream behind TLS, and one whose certificate nobody vouches for.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expire, makeCertificate } from '../certificate.ts';
import { freshFolder } from '../process.ts';
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

const NO_TLS = 'No TLS connection to the upstream could be made: ';

/** What the caller and the access log are told where no connection comes about. */
async function refused(pool: string) {
  const { status, body } = await server.call({ pool });
  const { entries } = await server.admin('GET', `/pools/${pool}/log?limit=1`);
  const [{ outcome, reason } = {}] = entries as Record<string, unknown>[];
  expect([status, outcome]).toEqual([502, 'upstream_unreachable']);
  expect(body).not.toMatch(/localhost|127\.0\.0\.1/);
  return [reason, JSON.parse(body).message];
}

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
    expect(await refused('tls-ip')).toEqual([
      'tls_name',
      `${NO_TLS}its certificate is for another name.`,
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
      expect(await refused('liar')).toEqual(['tls_none', `${NO_TLS}what it sent is no TLS.`]);
    }
    expect(await holds(() => open === 0, 3000)).toBe(true);
    liar.close();
  });

  it.each([
    ['has expired', 'expired', 'its certificate has expired, or is not valid yet.'],
    [
      'speaks HTTP/2 alone',
      'refused',
      'it refused what was offered, TLS 1.2 or 1.3 with HTTP/1.1.',
    ],
    ['hangs up', 'broken', 'it broke the handshake off.'],
  ])('that %s is told as such', async (_, what, message) => {
    const { port, close } = await faulty(what);
    await server.pool(`tls-${what}`, 1, { upstream: { url: `https://localhost:${port}` } });
    expect(await refused(`tls-${what}`)).toEqual([`tls_${what}`, NO_TLS + message]);
    close();
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
    expect(await refused('tls')).toEqual([
      'tls_issuer',
      `${NO_TLS}its certificate is of an issuer that is not trusted here.`,
    ]);
    expect(await server.capacity('tls')).toBe(1);
  });
});

/** An upstream that no TLS connection can be made to. */
async function faulty(what: string): Promise<{ port: number; close: () => void }> {
  const made = makeCertificate(freshFolder());
  if (what === 'expired') expire(made);
  const [key, cert] = [readFileSync(made.key), readFileSync(made.cert)];
  const one = what === 'broken'
    ? createPlainServer((socket) =>
      void socket.on('error', () => {}).once('data', () => socket.end())
    )
    : createTlsServer({ key, cert, ALPNProtocols: what === 'refused' ? ['h2'] : ['http/1.1'] });
  await new Promise<void>((done) => one.listen(0, 'localhost', done));
  return { port: (one.address() as AddressInfo).port, close: () => one.close() };
}
