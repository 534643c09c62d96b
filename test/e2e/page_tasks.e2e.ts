import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, look, open, signIn as enter } from './browser.ts';
import { ADMIN_TOKEN, type Server } from './server.ts';

const run = promisify(execFile);
const DENO = resolve('node_modules/.bin/deno');
const folder = mkdtempSync(join(tmpdir(), 'nthbouncer-e2e-'));

describe.skipIf(CHROMIUM === undefined)('what a person does on the page', () => {
  let server: Server;
  let page: Page;
  const keys = new Map<string, string>();
  const faults: string[] = [];
  const upstream = createServer((request, response) => {
    const isRefused = request.url === '/refuse';
    response.writeHead(isRefused ? 401 : 200).end(isRefused ? 'no' : 'upstream says hello');
  });

  const api = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${server.origin}/admin/api${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return text === '' ? {} : JSON.parse(text);
  };
  const makeKey = async (pool: string, name: string) => {
    keys.set(name, (await api('POST', `/pools/${pool}/keys`, { name }))['key']);
  };
  const acquire = (pool: string, key: string, body: unknown = {}) =>
    fetch(`${server.origin}/pools/${pool}/lock/acquire`, {
      method: 'POST',
      headers: { 'x-nthpool-key': keys.get(key) ?? '' },
      body: JSON.stringify(body),
    });
  const go = (path: string) => page.goto(`${server.origin}/admin${path}`);
  const signIn = async (on: Page) => {
    await on.goto(`${server.origin}/admin/sign-in`);
    await enter(on);
  };
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

  beforeAll(async () => {
    await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done));
    const { port } = upstream.address() as AddressInfo;
    const config = join(folder, 'pools.json');
    writeFileSync(config, JSON.stringify({ pools: [{ name: 'from-file' }] }));
    ({ server, page } = await open({ flags: ['--config', config] }));
    await api('POST', '/pools', { name: 'shop', concurrency: { limit: 3 } });
    const url = `http://127.0.0.1:${port}`;
    const credentials = [{ name: 'team-a', header: 'authorization', value: 'Bearer sk-a' }];
    await api('POST', '/pools', { name: 'proxied', upstream: { url, credentials } });
    await makeKey('shop', 'worker fleet');
    await makeKey('shop', 'nightly import');
    await makeKey('proxied', 'app');
    page.on('pageerror', (error) => faults.push(error.message));
    await signIn(page);
  });
  afterAll(async () => {
    await server?.stop();
    upstream.close();
  });

  it('is a strict page: no script but its own files, and its own host alone', async () => {
    const answer = await go('');
    const policy = answer?.headers()['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(await page.locator('script:not([src]), [onclick], [style]').count()).toBe(0);
  });

  it('finds no pool, and no page, with a way on', async () => {
    await go('?search=zzz');
    await page.getByText('No pool has “zzz” in its name.').waitFor();
    expect(await look(page, 'none-found')).toEqual([]);
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('link', { name: 'shop' }).waitFor();
    await go('/');
    expect(page.url()).toBe(`${server.origin}/admin`);
    expect((await go('/pools/nobody'))?.status()).toBe(404);
    await page.getByText('No pool has this name.').waitFor();
    expect(await look(page, 'no-page')).toEqual([]);
    await page.getByRole('link', { name: 'All pools' }).click();
    await page.getByRole('heading', { name: 'Pools' }).waitFor();
  });

  it('is worked by keyboard alone, with a visible focus, and asks before it acts', async () => {
    await go('/pools/shop/access');
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    for (let tabs = 0; tabs < 12 && !(await focused()).startsWith('Revoke'); tabs++) {
      await page.keyboard.press('Tab');
      const outline = 'getComputedStyle(document.activeElement).outlineStyle';
      expect(await page.evaluate(outline), await focused()).not.toBe('none');
    }
    await page.keyboard.press('Enter');
    await page.getByText('For good: calls and renewals with it are refused').first().waitFor();
    expect(await look(page, 'revoke')).toEqual([]);
    await page.keyboard.press('Enter');
    expect(await page.getByText('For good: calls').first().isVisible()).toBe(false);
    expect((await api('GET', '/pools/shop/keys'))['keys']).toHaveLength(2);
  });

  it('revokes a key, whose calls are then refused', async () => {
    expect((await acquire('shop', 'nightly import', { holder: 'once' })).status).toBe(200);
    const row = page.getByRole('row', { name: /nightly import/ });
    await row.locator('summary').click();
    await row.getByRole('button', { name: 'Revoke' }).click();
    // What the browser would look for by itself it would evaluate, which the page's policy forbids.
    await expect.poll(() => page.locator('tbody tr').count(), { timeout: 8_000 }).toBe(1);
    expect((await acquire('shop', 'nightly import')).status).toBe(401);
  });

  it('marks a key that has expired', async () => {
    const body = { name: 'brief', expiresAt: Date.now() + 1_000 };
    await api('POST', '/pools/shop/keys', body);
    await page.waitForTimeout(1_500);
    await go('/pools/shop/access');
    await page.getByRole('row', { name: /brief .* expired/ }).waitFor();
    await page.getByRole('row', { name: /worker fleet .* never/ }).waitFor();
  });

  it('names keys in slots and log, narrows the log and follows the rest', async () => {
    await acquire('shop', 'worker fleet', { holder: 'first' });
    await go('/pools/shop/slots');
    await page.getByRole('row', { name: /first worker fleet/ }).waitFor();
    await page.getByText('Look again').waitFor();
    await go('/pools/shop/log');
    await page.getByLabel('Key').selectOption('worker fleet');
    await page.getByLabel('Outcome').selectOption('granted');
    await page.getByLabel('In the last').selectOption('hour');
    await press('Filter');
    await page.getByRole('cell', { name: 'first' }).waitFor();
    expect(await page.getByRole('cell', { name: 'once' }).count()).toBe(0);
    expect(await page.getByLabel('Key').locator('option:checked').textContent())
      .toBe('worker fleet');
    await page.getByLabel('Follow').check();
    await page.waitForTimeout(300);
    await acquire('shop', 'worker fleet', { slots: 3, holder: 'refused' });
    await acquire('shop', 'worker fleet', { holder: 'second' });
    await page.getByRole('row', { name: /second/ }).waitFor();
    expect(await page.getByRole('row', { name: /second/ }).textContent()).toContain('worker fleet');
    expect(await page.getByRole('cell', { name: 'refused' }).count()).toBe(0);
    await page.getByRole('row', { name: /second/ }).locator('summary').click();
    await page.getByText('"holder": "second"').waitFor();
    expect(await look(page, 'log-narrowed')).toEqual([]);
  });

  it('shows bad input at its field, and loses nothing', async () => {
    await go('/pools/shop/access');
    const allow = page.getByLabel('Allow');
    await allow.fill('10.0.0.0/8\nnowhere');
    await press('Save addresses');
    await page.locator('.at-field', { hasText: 'must be an address or a range' }).waitFor();
    expect(await allow.getAttribute('aria-invalid')).toBe('true');
    expect(await allow.inputValue()).toBe('10.0.0.0/8\nnowhere');
    expect(await look(page, 'bad-input')).toEqual([]);
    await allow.fill('');
    await press('Save addresses');
    await page.getByText('Saved; it applies').waitFor();
    expect(await page.locator('.at-field, [aria-invalid]').count()).toBe(0);
  });

  it('keeps what was typed by who was signed out, for when they are signed in again', async () => {
    await go('/pools/shop/settings');
    await page.getByLabel('Longest wait (ms)').fill('12345');
    const other = await page.context().newPage();
    await other.goto(`${server.origin}/admin`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await press('Save queue');
    await page.getByText('You are signed out, so nothing was done.').waitFor();
    await signIn(other);
    await other.close();
    const renewed = page.waitForResponse((answer) => answer.url().endsWith('/admin'));
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await (await renewed).finished();
    await page.waitForTimeout(200);
    await press('Save queue');
    await page.getByText('Saved; it applies').waitFor();
    expect((await api('GET', '/pools/shop'))['queue']['timeoutMs']).toBe(12_345);
  });

  it('says that a file owns a pool, and which credential is put aside', async () => {
    await go('/pools/from-file/settings');
    await page.getByText('The configuration file owns this pool').waitFor();
    const { port } = new URL(server.origin);
    const call = ['-s', '-H', `X-Nthpool-Key: ${keys.get('app')}`];
    await run('curl', [...call, `http://proxied.localhost:${port}/refuse`]);
    await go('/pools/proxied/settings');
    await page.getByText(/Put aside until .*: the upstream answered 401/).waitFor();
    expect(await look(page, 'put-aside')).toEqual([]);
  });

  it.each([
    ['', { shop: 'worker fleet', proxied: 'app' }],
    [' where a pool wants no key', null],
  ])('has examples that work as they are pasted%s', async (_, holders) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (title: string) => {
      await press(`Copy the ${title} example`);
      await page.getByText('Copied.').waitFor();
      return await page.evaluate<string>('navigator.clipboard.readText()');
    };
    const env = { ...process.env };
    const key = { required: holders !== null, authorization: ['Bearer'] };
    const access = { access: { key } };
    await api('PATCH', '/pools/shop', { ...access, concurrency: { limit: 10 } });
    await api('PATCH', '/pools/proxied', { ...access, upstream: { credentials: [] } });
    await go('/pools/shop');
    if (holders !== null) env['NTHBOUNCER_KEY'] = keys.get(holders.shop);
    const shell = await run('bash', ['-c', await copied('curl')], { env });
    expect(shell.stdout).toMatch(/"slotId".*"leaseDeadline".*"released":true/s);
    const script = join(folder, 'example.ts');
    writeFileSync(script, `${await copied('TypeScript')}\nexport {};\n`);
    await run(DENO, ['run', '-A', '--check', '--no-config', script], { env });
    await run('python3', ['-c', await copied('Python')], { env });
    const { entries } = await api('GET', '/pools/shop/log?limit=3');
    expect(entries.map(({ outcome }: { outcome: string }) => outcome))
      .toEqual(['granted', 'granted', 'granted']);
    await go('/pools/proxied');
    if (holders !== null) env['NTHBOUNCER_KEY'] = keys.get(holders.proxied);
    const { stdout } = await run('bash', ['-c', await copied('Proxied')], { env });
    expect(stdout).toBe('upstream says hello');
  });

  it('tells when the server is gone, at the top and in the form', async () => {
    await go('/pools/shop/settings');
    await page.getByLabel('Depth (waiters)').fill('77');
    await server.stop();
    await page.getByText('The server does not answer: what is shown may be old.').waitFor();
    await press('Save queue');
    await page.getByText('The server gave no answer').waitFor();
    expect(await page.getByLabel('Depth (waiters)').inputValue()).toBe('77');
    expect(faults).toEqual([]);
  });
});
