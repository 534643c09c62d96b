/** What a signed-in browser may send amiss: nothing is done, and the answer says so. */
import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server.ts';

async function signedIn(test: TestServer) {
  const id = await test.server.desk.sessions.open(test.clock.nowMs());
  return {
    cookie: `nthbouncer=${id}`,
    origin: 'http://127.0.0.1:8787',
    'x-nthbouncer-write-token': test.server.desk.sessions.writeToken(id),
  };
}

describe('a form of the page', () => {
  it.each([
    ['make-key', 'days', { 'name:text': 'k' }],
    ['pause', 'minutes', {}],
  ])('%s refuses a time that is none, which would last for ever', async (what, unit, fields) => {
    const test = await TestServer.start();
    await test.openPool('p1');
    const headers = await signedIn(test);
    for (const typed of ['0', '-5', '1,5', 'soon', '1e300', '1e308', '1e400']) {
      const body = new URLSearchParams({ ...fields, [unit]: typed }).toString();
      const told = await test.call(`/admin/pools/p1/act/${what}`, {
        method: 'POST',
        headers,
        body,
      });
      expect(await told.text()).toContain('role="alert"');
    }
    const entry = test.server.directory.get('p1');
    expect(entry?.keys.rows()).toEqual([]);
    expect(entry?.pool.pause).toBeNull();
  });
});

describe('a form that cannot be read', () => {
  it.each([
    ['a number that is none', 'concurrency', 'concurrency.limit:int=abc'],
    ['a number beyond all', 'concurrency', 'concurrency.limit:int?=1e400'],
    ['a value below a value', 'concurrency', 'a:text=x&a.b:text=y'],
    ['more than is taken', 'pause', `reason:text=x&x=${'x'.repeat(3_000_000)}`],
    ['a key without its id', 'revoke-key', ''],
  ])('%s is told so, and changes nothing', async (_, what, body) => {
    const test = await TestServer.start();
    await test.openPool('p1', { concurrency: { limit: 3 } });
    const headers = await signedIn(test);
    const path = `/admin/pools/p1/act/${what}`;
    const told = await test.call(path, { method: 'POST', headers, body });
    expect(told.status).toBe(200);
    expect(await told.text()).toContain('role="alert"');
    const { pool, spec } = test.server.directory.get('p1') ?? {};
    expect(spec?.concurrency.limit).toBe(3);
    expect(pool?.pause).toBeNull();
  });
});

describe('a pause', () => {
  it('with an empty reason has none', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    await test.admin('POST', '/pools/p1/pause', { reason: '' });
    const status = await (await test.admin('GET', '/pools/p1/status')).json();
    expect(status).toMatchObject({ reason: 'paused by the operator' });
  });
});

describe('an instant that no date can show', () => {
  it('is taken neither for a pause nor for a key, whose pages could not be shown', async () => {
    const test = await TestServer.start();
    await test.openPool('p1');
    const headers = await signedIn(test);
    const last = 8_640_000_000_000_000;
    const pause = async (untilMs: number) =>
      (await test.admin('POST', '/pools/p1/pause', { untilMs })).status;
    const makeKey = async (expiresAt: number) =>
      (await test.admin('POST', '/pools/p1/keys', { name: 'k', expiresAt })).status;
    expect([await pause(last + 1), await pause(last)]).toEqual([400, 200]);
    expect([await makeKey(last + 1), await makeKey(last)]).toEqual([400, 201]);
    for (const tab of ['', '/access']) {
      expect((await test.call(`/admin/pools/p1${tab}`, { headers })).status).toBe(200);
    }
  });
});
