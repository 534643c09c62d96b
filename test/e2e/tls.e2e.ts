/** Certificates of the server: one that nobody trusts, a new one at SIGHUP, answers under way. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from './certificate.ts';
import { freePort } from './proxy/raw.ts';
import { endAll, freshFolder, sleep, start } from './process.ts';
import { startServer, until } from './server.ts';

afterEach(endAll);

describe('TLS', () => {
  it('of an issuer that is not trusted is told, and taken with DENO_CERT', async () => {
    const folder = freshFolder();
    const { cert, flags } = makeCertificate(folder, 'IP:127.0.0.1');
    const { origin, env } = await startServer({ folder, flags });
    const why = 'its certificate is of an issuer that is not trusted here; DENO_CERT';
    expect(await start(['pool', 'list'], env).finished).toMatchObject({
      code: 6,
      err: expect.stringContaining(`${origin} does not answer: ${why}`),
    });
    for (const words of [['doctor'], ['run', 'default', '--', 'true']]) {
      const { out, err } = await start(words, env).finished;
      expect(out + err).toContain(why);
    }
    const trusting = { ...env, DENO_CERT: cert };
    expect(await start(['pool', 'list'], trusting).finished).toMatchObject({ code: 0 });
  });

  /** A server with a certificate of its own, and how to make it another one. */
  async function secured(pools: object[] = [], more: string[] = []) {
    const folder = freshFolder();
    const make = (name: string) => makeCertificate(folder, 'DNS:localhost', name);
    const { key, flags: tls } = make('first.test');
    const config = join(folder, 'pools.json');
    writeFileSync(config, JSON.stringify({ pools }));
    const flags = [...tls, '--config', config, ...more];
    const server = await startServer({ folder, flags });
    const port = Number(new URL(server.origin).port);
    return { server, make, key, flags, to: { host: '127.0.0.1', port, rejectUnauthorized: false } };
  }

  it('serves with a certificate, and takes a new one at SIGHUP', async () => {
    const { server, make, key, flags, to } = await secured();
    expect(server.origin).toMatch(/^https:/);
    const subject = () =>
      new Promise<string>((done, fail) => {
        const socket = tls.connect(to, () => {
          done(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        }).on('error', fail);
      });
    expect(await subject()).toBe('first.test');
    make('second.test');
    server.signal('SIGHUP');
    await sleep(1000);
    expect(await subject()).toBe('second.test');
    writeFileSync(key, '-----BEGIN PRIVATE KEY-----\nbm8ga2V5\n-----END PRIVATE KEY-----\n');
    server.signal('SIGHUP');
    await sleep(500);
    expect(server.output).toContain('not reloaded');
    expect(await subject()).toBe('second.test');
    const fresh = await startServer({ flags });
    expect((await fresh.exited).code).toBe(2);
    expect(fresh.lines).toHaveLength(1);
    expect(() => readFileSync(fresh.database)).toThrow();
  });

  it('speaks HTTP/1.1 alone: who would rather have HTTP/2 falls back to it', async () => {
    const { server, to } = await secured();
    const url = `${server.origin.replace('localhost', '127.0.0.1')}/healthz`;
    const format = '%{http_code} %{http_version}';
    const flags = ['-sSk', '--http2', '--max-time', '10', '-o', '/dev/null', '-w', format];
    expect((await promisify(execFile)('curl', [...flags, url])).stdout).toBe('200 1.1');
    const agreed = (ALPNProtocols: string[]) =>
      new Promise<string | false | null>((done, fail) => {
        const socket = tls.connect({ ...to, ALPNProtocols }, () => {
          done(socket.alpnProtocol);
          socket.destroy();
        }).on('error', fail);
      });
    expect(await agreed(['h2', 'http/1.1'])).toBe('http/1.1');
    await expect(agreed(['h2'])).rejects.toThrow(/no application protocol/i);
  });

  it('refuses an upstream that is this server, whatever its certificate', async () => {
    const port = await freePort();
    const pools = ['http', 'https'].map((scheme) => ({
      name: scheme,
      upstream: { url: `${scheme}://localhost:${port}`, preserveHost: true },
      access: { key: { required: false } },
    }));
    const { to } = await secured(pools, ['--port', String(port)]);
    for (const { name } of pools) {
      const headers = { host: `${name}.localhost`, connection: 'close' };
      const answer = await new Promise<http.IncomingMessage>((done, fail) => {
        https.get({ ...to, headers }, done).on('error', fail);
      });
      expect(answer.headers['x-nthpool-error']).toBe('loop_detected');
      answer.destroy();
    }
  });

  it.each(['destroy', 'end'] as const)(
    'notices at once that a caller is gone: %s',
    async (leave) => {
      const upstream = net.createServer().listen(0, '127.0.0.1');
      await new Promise((done) => upstream.once('listening', done));
      const { port } = upstream.address() as net.AddressInfo;
      const { to } = await secured([{
        name: 'up',
        upstream: { url: `http://127.0.0.1:${port}` },
        access: { key: { required: false } },
      }]);
      const lines = 'POST / HTTP/1.1\r\nHost: up.localhost\r\nContent-Length: 9000\r\n\r\n';
      const caller = tls.connect(to, () => caller.write(lines + 'x'.repeat(9000)));
      const asked = await new Promise<net.Socket>((done) => upstream.once('connection', done));
      let bytes = 0;
      asked.on('data', (piece) => bytes += piece.length);
      await until('the whole request is there', () => Promise.resolve(bytes > 9000));
      const ended = new Promise((done) => asked.on('error', () => {}).once('close', done));
      caller[leave]();
      const startedMs = performance.now();
      await ended;
      expect(performance.now() - startedMs).toBeLessThan(1000);
      upstream.close();
    },
  );

  it('lets an answer over an old certificate end within the drain time', async () => {
    const upstream = http.createServer((_, answer) => {
      answer.write('begun');
      setTimeout(() => answer.end(' and ended'), 2_000);
    }).listen(0, '127.0.0.1');
    await new Promise((done) => upstream.once('listening', done));
    const { port } = upstream.address() as net.AddressInfo;
    const { server, to } = await secured([{
      name: 'up',
      upstream: { url: `http://127.0.0.1:${port}` },
      keys: [{ name: 'k', hash: createHash('sha256').update('nb_live_k').digest('hex') }],
    }]);
    const headers = { host: 'up.localhost', 'x-nthpool-key': 'nb_live_k' };
    const answer = await new Promise<http.IncomingMessage>((done, fail) => {
      https.get({ ...to, headers }, done).on('error', fail);
    });
    const body = text(answer);
    server.signal('SIGHUP');
    await sleep(500);
    expect(server.output).toContain('configuration reloaded');
    server.signal('SIGTERM');
    expect(await body).toBe('begun and ended');
    expect((await server.exited).code).toBe(0);
    upstream.close();
  });
});
