/** Behind a terminator of TLS: what the admin page takes the browser's scheme for. */
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, openServer, TestServer } from '../support/server.ts';

const HOST = 'bouncer.example.com';
const TERMINATOR = '10.0.0.1';

async function signedIn(from: string, proto: Record<string, string>) {
  const server = await openServer({
    trustedProxies: [TERMINATOR],
    clientIpHeader: 'x-forwarded-for',
    baseDomain: HOST,
  });
  const test = new TestServer(server);
  await test.openPool('p1', { upstream: { url: 'http://127.0.0.1:9' } });
  const headers = { ...proto, origin: `https://${HOST}` };
  const body = `token=${ADMIN_TOKEN}`;
  const call = { from, host: HOST };
  const answer = await test.call('/admin/sign-in', { ...call, method: 'POST', headers, body });
  const cookie = answer.headers.get('set-cookie') ?? '';
  const read = async (cookie: string) =>
    await test.call('/admin/pools/p1', { ...call, headers: { ...proto, cookie } });
  const page = await (await read(cookie.split(';')[0] ?? '')).text();
  return { cookie, page, read };
}

describe('a browser whose TLS ends at a proxy', () => {
  it.each(['https', 'HTTPS'])('that is trusted and says %s has a Secure cookie', async (proto) => {
    const { cookie, page, read } = await signedIn(TERMINATOR, { 'x-forwarded-proto': proto });
    expect(cookie).toMatch(/^__Host-nthbouncer=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    expect(page).toContain(`https://${HOST}/pools/p1/lock`);
    expect(page).toContain(`https://p1.${HOST}`);
    expect(page).not.toContain(`http://${HOST}`);
    const plain = cookie.split(';')[0]?.replace('__Host-', '') ?? '';
    const location = '/admin/sign-in?to=%2Fadmin%2Fpools%2Fp1';
    expect((await read(plain)).headers.get('location')).toBe(location);
  });

  it.each([
    ['is not trusted', '10.0.0.2', { 'x-forwarded-proto': 'https' }],
    ['says nothing of it', TERMINATOR, {}],
    ['says http', TERMINATOR, { 'x-forwarded-proto': 'http' }],
  ])('that %s has one that goes without', async (_, from, proto) => {
    const { cookie, page } = await signedIn(from, proto as Record<string, string>);
    expect(cookie).toMatch(/^nthbouncer=[^;]+; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(page).toContain(`http://${HOST}/pools/p1/lock`);
  });
});
