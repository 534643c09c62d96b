/**
 * What a caller was told stands, whenever the process is killed.
 */
import { get } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, sleep } from './process.ts';
import { Server, startServer, until } from './server.ts';

afterEach(endAll);

const fixed = (limit: number, more: object = {}) => ({
  concurrency: { limit, mode: 'fixed' },
  ...more,
});

describe('kill -9', () => {
  it('loses no told grant and lets none in above the limit, in eight storms', async () => {
    const server = await startServer();
    const pool = await server.pool('storm', fixed(5));
    let fenceMax = 0;
    for (let round = 0; round < 8; round++) {
      const told = new Map<string, 'held' | 'releasing'>();
      let isOver = false;
      const worker = async () => {
        while (!isOver) {
          const got = await pool.acquire({ waitMs: 5000 }).catch(() => null);
          if (got?.status !== 200) return;
          fenceMax = Math.max(fenceMax, got.json.fence);
          told.set(got.json.slotId, 'held');
          if (Math.random() < 0.2) continue;
          told.set(got.json.slotId, 'releasing');
          const done = await pool.release(got.json.slotId).catch(() => null);
          if (done?.status === 200) told.delete(got.json.slotId);
        }
      };
      const workers = Array.from({ length: 20 }, worker);
      await sleep(150 + Math.random() * 200);
      isOver = true;
      await server.stop('SIGKILL');
      await Promise.all(workers);
      await server.start();
      expect((await pool.status()).inUse).toBeLessThanOrEqual(5);
      for (const [slotId, state] of told) {
        if (state === 'held') expect((await pool.renew(slotId)).status).toBe(200);
      }
      const { inUse } = await pool.status();
      expect(await pool.capacity()).toBe(5 - inUse);
      const { json } = await server.admin('GET', '/pools/storm/slots');
      for (const { ref } of json.slots) await server.admin('DELETE', `/pools/storm/slots/${ref}`);
      const next = await pool.hold();
      expect(next.fence).toBeGreaterThan(fenceMax);
      await pool.release(next.slotId);
    }
  });

  it('during a first start leaves a database that the next start completes', async () => {
    const server = new Server();
    const starting = server.start();
    await sleep(250);
    server.signal('SIGKILL');
    await starting;
    await server.exited;
    await server.start();
    const key = server.output.match(/nb_live_\w+/)?.[0] ??
      (await until('the key is printed', () => Promise.resolve(/nb_live_/.test(server.output))),
        server.output.match(/nb_live_\w+/)?.[0]);
    const headers = { 'x-nthpool-key': key ?? '' };
    const got = await server.call('POST', '/pools/default/lock/acquire', { headers });
    expect(got.status).toBe(200);
  });

  it('and a down time of more than a term do not cost a live holder its slot', async () => {
    const server = await startServer();
    const lease = { termMs: 1200, renewIntervalMs: 400, requestTimeoutMs: 60_000 };
    const pool = await server.pool('down', fixed(1, { lease }));
    const { slotId } = await pool.hold();
    await server.stop('SIGKILL');
    await sleep(1500);
    await server.start();
    expect((await pool.acquire()).status).toBe(429);
    expect((await pool.renew(slotId)).status).toBe(200);
    expect((await pool.release(slotId)).text).toBe('{"released":true}');
  });

  it('keeps an operator rate: starts of the last minute still count', async () => {
    const server = await startServer();
    const pool = await server.pool('rate', fixed(5, { rate: { rpm: 2 } }));
    for (let i = 0; i < 2; i++) await pool.release((await pool.hold()).slotId);
    await server.stop('SIGKILL');
    await server.start();
    const refused = await pool.acquire();
    expect(refused.status).toBe(429);
    expect(refused.json.reason).toBe('rate');
    expect(refused.json.retryAfterMs).toBeGreaterThan(50_000);
  });

  it('shuts a proxied pool with an rpm for its minute; an orderly stop does not', async () => {
    const server = await startServer();
    const upstream = { url: 'http://127.0.0.1:9' };
    const pool = await server.pool('proxied', fixed(5, { rate: { rpm: 4 }, upstream }));
    await pool.release((await pool.hold()).slotId);
    const headers = { host: 'proxied.localhost', 'x-nthpool-key': pool.key };
    const status = await new Promise((done, fail) => {
      get(server.origin, { headers }, (answer) => done(answer.resume().statusCode)).on(
        'error',
        fail,
      );
    });
    await server.stop();
    await server.start();
    const { rpmRemaining } = await pool.status();
    expect([status, rpmRemaining]).toEqual([502, 2]);
    await pool.release((await pool.hold()).slotId);
    await server.stop('SIGKILL');
    await server.start();
    const refused = await pool.acquire();
    expect([refused.status, refused.json.reason]).toEqual([429, 'rate']);
    expect(refused.json.retryAfterMs).toBeGreaterThan(50_000);
  });

  it('keeps an operator rate of tokens: those of the last minute still count', async () => {
    const server = await startServer();
    const pool = await server.pool('tokens', fixed(5, { rate: { tpm: 1000 } }));
    const held = await pool.acquire({ tokens: 600 });
    await pool.release((await pool.acquire({ tokens: 300 })).json.slotId);
    await server.stop('SIGKILL');
    await server.start();
    const refused = await pool.acquire({ tokens: 101 });
    expect(refused.status).toBe(429);
    expect(refused.json.retryAfterMs).toBeGreaterThan(50_000);
    await pool.release(held.json.slotId, { status: 200, tokens: 100 });
    expect((await pool.acquire({ tokens: 600 })).status).toBe(200);
  });
});

describe('SIGSTOP and SIGCONT of the server', () => {
  it('leave one owner of the slot: the lapsed holder is told, the waiter is served', async () => {
    const server = await startServer();
    const lease = { termMs: 1000, renewIntervalMs: 300, requestTimeoutMs: 60_000 };
    const pool = await server.pool('frozen', fixed(1, { lease }));
    const { slotId } = await pool.hold();
    const waiting = pool.acquire({ waitMs: 20_000 });
    await sleep(200);
    server.signal('SIGSTOP');
    const renewing = pool.renew(slotId);
    await sleep(2000);
    server.signal('SIGCONT');
    expect((await renewing).status).toBe(404);
    const got = await waiting;
    expect(got.status).toBe(200);
    expect((await pool.acquire()).status).toBe(429);
  });
});
