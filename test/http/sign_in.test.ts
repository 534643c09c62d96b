/** Signing in on the admin page: who may try, how often, and where it leads. */
import { describe, expect, it } from 'vitest';
import { respond } from '../support/http.ts';
import { ADMIN_TOKEN, peerOf, TestServer } from '../support/server.ts';

const ORIGIN = { origin: 'http://127.0.0.1:8787' };

describe('signing in', () => {
  const form = (token: string) => new URLSearchParams({ token }).toString();
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  interface Sent {
    readonly body: string | ReadableStream<Uint8Array>;
    readonly from: string;
    readonly headers?: Record<string, string>;
  }

  async function post(test: TestServer, { body, from, headers = ORIGIN }: Sent): Promise<number> {
    const ask = { method: 'POST', host: '127.0.0.1:8787', target: '/admin/sign-in', body };
    const sent = { ...ask, headers: { ...FORM, ...headers } };
    return (await respond(test.app, sent, peerOf(from))).status;
  }

  it('has five tries a minute however many come at once, one IPv6 network together', async () => {
    const test = await TestServer.start();
    const tries = Array.from({ length: 40 }, (_, at) => {
      return post(test, { body: form('wrong'), from: `2001:db8::1:${at}` });
    });
    const told = await Promise.all(tries);
    expect(told.filter((status) => status === 401)).toHaveLength(5);
    expect(told.filter((status) => status === 429)).toHaveLength(35);
    const other = { body: form(ADMIN_TOKEN), from: '2001:db8:0:1::1' };
    expect(await post(test, other)).toBe(303);
  });

  it('is refused to a foreign page, which uses up no tries of whoever looks at it', async () => {
    const test = await TestServer.start();
    const signIn = { body: form(ADMIN_TOKEN), from: '10.0.0.1' };
    const evil = { origin: 'http://evil.test' };
    for (let i = 0; i < 20; i++) expect(await post(test, { ...signIn, headers: evil })).toBe(403);
    expect(await post(test, signIn)).toBe(303);
  });

  it('reads no more of a body without an end than a token has, and not for ever', async () => {
    const test = await TestServer.start();
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1000;
        if (pulled > 100_000) return controller.close();
        controller.enqueue(new Uint8Array(1000).fill(97));
      },
    });
    expect(await post(test, { body: endless, from: '10.0.0.1' })).toBe(401);
    expect(pulled).toBeLessThan(10_000);
    const stuck = post(test, { body: new ReadableStream(), from: '10.0.0.1' });
    await test.clock.settle();
    await test.clock.pass(10_000);
    expect(await stuck).toBe(401);
  });
});

describe('whoever asks for a page before signing in', () => {
  const asked = (test: TestServer, path: string) =>
    test.call(path, { headers: { host: '127.0.0.1:8787' } });

  /** Where a sign-in on the page at `path` leads. */
  async function signedInAt(test: TestServer, path: string): Promise<string | null> {
    const body = new URLSearchParams({ token: ADMIN_TOKEN }).toString();
    const headers = { ...ORIGIN, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await test.call(path, { method: 'POST', body, headers });
    expect(answer.status).toBe(303);
    return answer.headers.get('location');
  }

  it.each([
    '/admin',
    '/admin/pools/p1',
    '/admin/pools/p1/log?outcome=refused_full&minutes=5&cursor=a%2Bb%26c',
    '/admin?search=p%20x',
  ])('is led there afterwards: %s', async (path) => {
    const test = await TestServer.start();
    const way = (await asked(test, path)).headers.get('location') ?? '';
    expect(way).toMatch(/^\/admin\/sign-in(\?|$)/);
    expect(await signedInAt(test, way)).toBe(path);
  });

  it.each([
    'https://evil.test/admin',
    '//evil.test',
    '/\\evil.test',
    '/adminx',
    '/admin/a\r\nset-cookie: x',
    'admin',
    '/admin/' + 'x'.repeat(2_001),
    'javascript:alert(1)',
  ])('is led nowhere else: %s', async (to) => {
    const test = await TestServer.start();
    const path = `/admin/sign-in?to=${encodeURIComponent(to)}`;
    expect(await signedInAt(test, path)).toBe('/admin');
  });
});

describe('a sign-in that this page did not send', () => {
  it.each([[{}], [{ origin: 'https://elsewhere.test' }], [{ origin: 'null' }]])(
    'with %j is 403, says so whatever the token, and costs no try',
    async (origin) => {
      const test = await TestServer.start();
      const signIn = (token: string, headers: Record<string, string>) =>
        test.call('/admin/sign-in', {
          method: 'POST',
          body: new URLSearchParams({ token }).toString(),
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        });
      for (const token of [ADMIN_TOKEN, 'wrong', 'wrong', 'wrong', 'wrong', 'wrong']) {
        const answer = await signIn(token, origin);
        expect(answer.status).toBe(403);
        expect(answer.headers.get('set-cookie')).toBe(null);
        expect(await answer.text()).toContain('not sent by this page');
      }
      expect((await signIn(ADMIN_TOKEN, ORIGIN)).status).toBe(303);
    },
  );
});
