/** Certificates of the server: one that nobody trusts, a new one at SIGHUP, answers under way. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from './certificate.ts';
import { endAll, freshFolder, sleep, start } from './process.ts';
import { startServer } from './server.ts';

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
  async function secured(...pools: object[]) {
    const folder = freshFolder();
    const make = (name: string) => makeCertificate(folder, 'DNS:localhost', name);
    const { key, flags: tls } = make('first.test');
    const config = join(folder, 'pools.json');
    writeFileSync(config, JSON.stringify({ pools }));
    const flags = [...tls, '--config', config];
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

  it('lets an answer over an old certificate end within the drain time', async () => {
    const upstream = http.createServer((_, answer) => {
      answer.write('begun');
      setTimeout(() => answer.end(' and ended'), 2_000);
    }).listen(0, '127.0.0.1');
    await new Promise((done) => upstream.once('listening', done));
    const { port } = upstream.address() as net.AddressInfo;
    const { server, to } = await secured({
      name: 'up',
      upstream: { url: `http://127.0.0.1:${port}` },
      keys: [{ name: 'k', hash: createHash('sha256').update('nb_live_k').digest('hex') }],
    });
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
