import { describe, expect, it } from 'vitest';
import { entry } from '../store/samples.ts';
import { T0 } from '../support/pools.ts';
import { ADMIN_TOKEN, AS_ADMIN, TestServer } from '../support/server.ts';

const HOUR_MS = 3_600_000;
const ORIGIN = { origin: 'http://127.0.0.1:8787' };

async function signedIn(test: TestServer) {
  const id = await test.server.desk.sessions.open(test.clock.nowMs());
  const cookie = `nthbouncer=${id}`;
  const token = test.server.desk.sessions.writeToken(id);
  return { id, cookie, write: { cookie, ...ORIGIN, 'x-nthbouncer-write-token': token } };
}

describe('a session', () => {
  it('reads by its cookie, and writes with the origin and its token alone', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    const { cookie, write } = await signedIn(test);
    expect((await test.call('/admin/api/pools', { headers: { cookie } })).status).toBe(200);
    const pause = (headers: Record<string, string>) =>
      test.call('/admin/api/pools/p1/pause', { method: 'POST', headers });
    expect((await pause({ cookie })).status).toBe(401);
    expect((await pause({ ...write, origin: 'http://evil.test' })).status).toBe(401);
    expect((await pause({ ...write, 'x-nthbouncer-write-token': 'x' })).status).toBe(401);
    expect((await pause({ ...write, authorization: 'Bearer x' })).status).toBe(401);
    expect(test.server.directory.get('p1')?.pool.pause).toBeNull();
    expect((await pause(write)).status).toBe(200);
  });

  it('ends after 12 h without use, survives a restart, and is stored hashed', async () => {
    const test = await TestServer.start();
    const { id, cookie } = await signedIn(test);
    const ask = async (of: TestServer) =>
      (await of.call('/admin/api/pools', { headers: { cookie } })).status;
    await test.clock.pass(11 * HOUR_MS);
    expect(await ask(test)).toBe(200);
    await test.clock.pass(11 * HOUR_MS);
    expect(await ask(test)).toBe(200);
    expect(JSON.stringify(await test.store.readSessions())).not.toContain(id);
    await test.server.desk.sessions.save(test.clock.nowMs());
    const again = await TestServer.start(test.store);
    await again.server.desk.sessions.load();
    await again.clock.pass(33 * HOUR_MS);
    expect(await ask(again)).toBe(200);
    await again.clock.pass(12 * HOUR_MS);
    expect(await ask(again)).toBe(401);
  });

  it('that is signed out ends its live events at once, and no others', async () => {
    const test = await TestServer.start();
    const watch = async (headers: Record<string, string>) => {
      return (await test.call('/admin/api/events', { headers })).body!.getReader();
    };
    const { cookie, write } = await signedIn(test);
    const [mine, token] = [await watch({ cookie }), await watch(AS_ADMIN)];
    const other = await watch({ cookie: (await signedIn(test)).cookie });
    for (const each of [mine, token, other]) await each.read();
    await test.call('/admin/sign-out', { method: 'POST', headers: write });
    expect((await mine.read()).done).toBe(true);
    expect(test.server.desk.watch.viewers).toBe(2);
    test.server.desk.watch.close();
  });

  it('is not opened from an address that failed five times within a minute', async () => {
    const test = await TestServer.start();
    const signIn = async (token: string, from: string) => {
      const body = new URLSearchParams({ token }).toString();
      const headers = { ...ORIGIN, 'content-type': 'application/x-www-form-urlencoded' };
      return (await test.call('/admin/sign-in', { method: 'POST', body, headers, from })).status;
    };
    for (let i = 0; i < 5; i++) expect(await signIn('wrong', '10.0.0.1')).toBe(401);
    expect(await signIn(ADMIN_TOKEN, '10.0.0.1')).toBe(429);
    expect(await signIn(ADMIN_TOKEN, '10.0.0.2')).toBe(303);
    await test.clock.pass(60_000);
    expect(await signIn(ADMIN_TOKEN, '10.0.0.1')).toBe(303);
  });
});

describe("a pool's page", () => {
  it('warns where anybody may call the pool, and nowhere else', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    const { cookie } = await signedIn(test);
    const page = async () =>
      await (await test.call('/admin/pools/p1/access', { headers: { cookie } })).text();
    const change = (access: object) => test.admin('PATCH', '/pools/p1', { access });
    expect(await page()).toContain('This pool wants no key: anybody who reaches');
    await change({ ip: { allow: ['10.0.0.0/8'] } });
    expect(await page()).toContain('every address on its list who reaches');
    await change({ hmac: { secrets: ['a secret of the page 0123456789 abcdef'] } });
    expect(await page()).not.toContain('wants no key');
    await change({ hmac: null, key: { required: true } });
    expect(await page()).not.toContain('wants no key');
  });
});

describe('GET /admin/api/events', () => {
  async function read(stream: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
    const { value } = await stream.read();
    return new TextDecoder().decode(value);
  }

  it('tells of changed pools once a second, and of log rows', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    await test.openPool('p2');
    const answer = await test.admin('GET', '/events');
    const reader = answer.body!.getReader();
    expect(await read(reader)).toContain('retry');
    await test.clock.pass(1000);
    expect(await read(reader)).toContain('"name":"p2"');
    await test.acquire('p1');
    await test.clock.pass(250);
    const row = await read(reader);
    expect(row).toContain('event: log');
    expect(row).not.toContain('slotId');
    await test.clock.pass(750);
    const changed = await read(reader);
    expect(changed).toContain('"name":"p1","limit":10,"effectiveLimit":10,"inUse":1');
    expect(changed).not.toContain('p2');
    await reader.cancel();
    expect(test.server.desk.watch.viewers).toBe(0);
  });

  it('tells of log rows once a second while more come than an event takes', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    const answer = await test.admin('GET', '/events?pool=p1');
    const reader = answer.body!.getReader();
    await read(reader);
    await test.clock.pass(1000);
    await read(reader);
    const { log } = test.server.scheduler;
    let told: string | null = null;
    const hear = async (count: number, withinMs: number) => {
      told = null;
      void read(reader).then((text) => told = text);
      for (let at = 0; at < count; at++) log.heard(entry(String(at), { pool: 'p1' }));
      await test.clock.pass(withinMs);
    };
    await hear(201, 250);
    expect(told).toContain('"missed":1');
    await hear(1, 500);
    expect(told).toBe(null);
    await test.clock.pass(500);
    expect(told).toContain('"missed":0');
    await hear(1, 250);
    expect(told).toContain('event: log');
    await reader.cancel();
  });

  it('takes at most 32 viewers and 200 pools an event', async () => {
    const test = await TestServer.start();
    for (let i = 0; i < 250; i++) await test.openPool(`p${i}`);
    const answers = [];
    for (let i = 0; i < 32; i++) answers.push(await test.admin('GET', '/events'));
    expect((await test.admin('GET', '/events')).status).toBe(503);
    const reader = answers[0]!.body!.getReader();
    await read(reader);
    await test.clock.pass(1000);
    expect((await read(reader)).match(/"name"/g)).toHaveLength(200);
    await test.clock.pass(1000);
    expect((await read(reader)).match(/"name"/g)).toHaveLength(50);
    test.server.desk.watch.close();
  });

  it('asked by HEAD, by token or session, is answered and leaves no viewer behind', async () => {
    const test = await TestServer.start();
    const { cookie } = await signedIn(test);
    for (const headers of [AS_ADMIN, { cookie }]) {
      const answer = await test.call('/admin/api/events', { method: 'HEAD', headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/event-stream');
      expect(await answer.text()).toBe('');
    }
    await test.clock.settle();
    expect(test.server.desk.watch.viewers).toBe(0);
  });
});

describe('the history', () => {
  it('has the points of each span, and survives a restart in bounded rows', async () => {
    const test = await TestServer.start();
    await test.openPool('p1', { concurrency: { limit: 2 } });
    await test.server.desk.start(() => 0);
    await test.acquire('p1');
    await test.acquire('p1');
    await test.acquire('p1');
    await test.clock.pass(26_000);
    const last = async (of: TestServer, span: string, column: string) => {
      const answer = await of.admin('GET', `/pools/p1/history?span=${span}`);
      const series = await answer.json();
      expect(series.at.length).toBe(series[column].length);
      return series[column].slice(-6);
    };
    expect(await last(test, '5m', 'inUse')).toEqual([0, 2, 2, 2, 2, 2]);
    expect((await last(test, '1h', 'granted')).at(-1)).toBe(2);
    expect((await last(test, '24h', 'refused')).at(-1)).toBe(1);
    await test.clock.pass(2 * HOUR_MS);
    await test.server.desk.stop();
    await test.clock.settle();
    expect((await test.store.readHistory()).length).toBeLessThanOrEqual(60 + 60 + 96);
    const again = await TestServer.start(test.store);
    await again.server.desk.history.load();
    again.clock.shiftMs = test.clock.nowMs() - T0;
    const answer = await again.admin('GET', '/pools/p1/history?span=24h');
    expect(Math.max(...(await answer.json()).inUse)).toBe(2);
    const wrong = await again.admin('GET', '/pools/p1/history?span=7d');
    expect(wrong.status).toBe(400);
  });
});
