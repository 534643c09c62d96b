import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, look, openSignedIn } from './browser.ts';
import type { Server } from './server.ts';

const SECRET = 'a-secret-of-thirty-two-characters-or-more';

describe.skipIf(CHROMIUM === undefined)('the forms of rules and of the upstream', () => {
  let server: Server;
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    ({ server, page, faults } = await openSignedIn());
  });

  const show = (tab: string) => page.goto(`${server.origin}/admin/pools/default/${tab}`);
  const card = (title: string) => page.getByRole('region', { name: title, exact: true });
  /** Presses the form's button; what is told then. */
  const save = async (title: string) => {
    const told = card(title).locator('.told');
    const answered = page.waitForResponse((one) => one.request().method() === 'POST');
    await card(title).getByRole('button', { name: /^Save/ }).click();
    await (await answered).finished();
    await page.waitForTimeout(100);
    return await told.textContent() ?? '';
  };
  const pool = async () => (await server.admin('GET', '/pools/default')).json;

  it('say what holds now, and what a change does', async () => {
    await show('access');
    const told = card('Pool key').locator('.told');
    expect(await told.textContent()).toContain('Now: A call needs a key of this pool');
    await card('Pool key').getByLabel('A key is').selectOption('not required');
    await card('Pool key').getByLabel('Bearer').check();
    await card('Pool key').getByLabel('Nthbouncer').uncheck();
    await card('Pool key').getByLabel('Also taken from these headers').fill('x-api-key\n');
    expect(await save('Pool key')).toContain('whoever reaches the port gets slots');
    expect((await pool()).access.key)
      .toEqual({ required: false, authorization: ['Bearer'], headers: ['x-api-key'] });
    await card('Pool key').getByLabel('A key is').selectOption('required');
    expect(await save('Pool key')).toContain('in X-Nthpool-Key, Authorization: Bearer, x-api-key.');
  });

  it('take addresses, and say which is none', async () => {
    await card('Addresses').getByLabel('Allow').fill('10.0.0.0/8\n10.0.0.300');
    expect(await save('Addresses')).toContain('access.ip.allow.1: must be an address or a range');
    await card('Addresses').getByLabel('Allow').fill('10.0.0.0/8\n::1');
    await card('Addresses').getByLabel('Deny').fill('10.1.0.0/16');
    expect(await save('Addresses')).toContain('from 10.0.0.0/8, ::1, but not 10.1.0.0/16.');
    await card('Addresses').getByLabel('Allow').fill('');
    await card('Addresses').getByLabel('Deny').fill('');
    expect(await save('Addresses')).toContain('from any address.');
  });

  it('switch signatures on, keep their secrets, and switch them off', async () => {
    const hmac = card('Signature (HMAC)');
    expect(await hmac.getByLabel('Second secret').isVisible()).toBe(false);
    await hmac.getByRole('switch').check();
    expect(await save('Signature (HMAC)')).toContain('a secret is wanted');
    await hmac.locator('.at-field', { hasText: 'none is stored yet' }).waitFor();
    await hmac.getByLabel('Secret', { exact: true }).fill(SECRET);
    expect(await save('Signature (HMAC)')).toContain('within 300 s');
    await show('access');
    expect(await page.content()).not.toContain(SECRET);
    await hmac.getByLabel('Tolerance of timestamps (ms)').fill('60000');
    expect(await save('Signature (HMAC)')).toContain('within 60 s');
    expect((await pool()).access.hmac)
      .toEqual({ toleranceMs: 60_000, bodyBytesMax: 1_048_576, secretSet: true });
    expect(await look(page, 'access-hmac')).toEqual([]);
    await hmac.getByRole('switch').uncheck();
    expect(await save('Signature (HMAC)')).toContain('Now: Off');
    expect((await pool()).access.hmac).toBeNull();
  });

  it('take the rules of a token, whatever its keys come from', async () => {
    const jwt = card('Token (JWT)');
    await jwt.getByRole('switch').check();
    await jwt.getByLabel('URL of the key set').fill('https://id.example/keys');
    await jwt.getByLabel('Issuers').fill('https://id.example');
    await jwt.getByLabel('Audiences').fill('a\nb');
    await jwt.getByLabel('Claims wanted').fill('role = admin\nlevel = [1, 2]');
    expect(await look(page, 'access-jwt')).toEqual([]);
    expect(await save('Token (JWT)'))
      .toContain(
        'by the keys at https://id.example/keys with RS256 by https://id.example for a, b.',
      );
    await show('access');
    expect(await jwt.getByLabel('Claims wanted').inputValue()).toBe('role = admin\nlevel = [1,2]');
    await jwt.getByLabel('Claims wanted').fill('level = [1, 2]');
    expect(await save('Token (JWT)')).toContain('Saved');
    expect((await pool()).access.jwt.requiredClaims).toEqual({ level: [1, 2] });
    await jwt.getByLabel('Keys from').selectOption('a shared secret');
    await jwt.getByRole('textbox', { name: 'Shared secret' }).fill(SECRET);
    expect(await save('Token (JWT)')).toContain('HS algorithms go with secret');
    await jwt.getByLabel('RS256').uncheck();
    expect(await save('Token (JWT)')).toContain('signed by the secret with HS256');
    expect((await pool()).access.jwt).toMatchObject({ jwksUrl: null, jwks: null, secretSet: true });
    await show('access');
    expect(await jwt.getByLabel('Keys from').inputValue()).toBe('secret');
    await jwt.getByLabel('Tolerance of clocks (s)').fill('5');
    expect(await save('Token (JWT)')).toContain('signed by the secret');
    await jwt.getByRole('switch').uncheck();
    expect(await save('Token (JWT)')).toContain('Now: Off');
  });

  it('take an application of Cloudflare Access', async () => {
    const cloudflare = card('Cloudflare Access');
    await cloudflare.getByRole('switch').check();
    await cloudflare.getByLabel('Team domain').fill('acme');
    await cloudflare.getByLabel('Audience tags').fill('tag-1');
    expect(await save('Cloudflare Access')).toContain('of acme.cloudflareaccess.com, for tag-1.');
    await cloudflare.getByRole('switch').uncheck();
    expect(await save('Cloudflare Access')).toContain('Now: Off');
  });

  it('take an upstream and its credentials one by one', async () => {
    await show('settings');
    const upstream = card('Upstream');
    await upstream.getByRole('switch').check();
    await upstream.getByLabel('URL').fill('http://127.0.0.1:9/v1');
    const fresh = upstream.getByRole('group', { name: 'New credential' });
    await fresh.getByLabel('Name').fill('key-a');
    await fresh.getByLabel('Header', { exact: true }).fill('authorization');
    await fresh.getByLabel('Value').fill(`Bearer ${SECRET}`);
    expect(await save('Upstream')).toContain('forwarded to http://127.0.0.1:9/v1, with 1 of ours.');
    await show('settings');
    expect(await page.content()).not.toContain(SECRET);
    await fresh.getByLabel('Name').fill('key-b');
    await fresh.getByLabel('Header', { exact: true }).fill('x-key');
    await fresh.getByLabel('Value').fill('b');
    await upstream.getByLabel('Stall timeout (ms)').fill('5000');
    expect(await save('Upstream')).toContain('with 2 of ours.');
    expect(await look(page, 'settings-upstream')).toEqual([]);
    await show('settings');
    const first = upstream.getByRole('group', { name: 'Credential key-a' });
    await first.getByLabel('Remove it').check();
    expect(await save('Upstream')).toContain('with 1 of ours.');
    expect((await pool()).upstream).toMatchObject({
      credentials: [{ name: 'key-b', header: 'x-key', secretSet: true }],
      stallTimeoutMs: 5_000,
      requestTimeoutMs: 600_000,
    });
    for (const [text, requestTimeoutMs] of [['', null], ['7000', 7_000], ['', null]] as const) {
      await show('settings');
      await upstream.getByLabel('Request timeout (ms)').fill(text);
      await save('Upstream');
      expect((await pool()).upstream).toMatchObject({ requestTimeoutMs });
    }
    await show('settings');
    expect(await upstream.getByLabel('Request timeout (ms)').inputValue()).toBe('');
  });

  it('have the same as JSON', async () => {
    await page.getByRole('link', { name: 'Edit the upstream as JSON' }).click();
    const text = page.getByRole('textbox');
    expect(JSON.parse(await text.inputValue())).toEqual((await pool()).upstream);
    await text.fill('{"forwarded": true');
    expect(await save('As JSON')).toContain('cannot be read');
    await text.fill('{"forwarded": true}');
    expect(await save('As JSON')).toContain('Saved');
    expect((await pool()).upstream).toMatchObject({ forwarded: true, stallTimeoutMs: 5_000 });
    expect(await look(page, 'as-json')).toEqual([]);
    expect(faults).toEqual([]);
  });
});
