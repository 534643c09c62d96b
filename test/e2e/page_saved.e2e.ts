import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openSignedIn } from './browser.ts';
import type { Server } from './server.ts';

const UPSTREAM = { url: 'http://127.0.0.1:9' };

describe.skipIf(CHROMIUM === undefined)('a form that is saved', () => {
  let server: Server;
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    ({ server, page, faults } = await openSignedIn());
    await server.admin('PATCH', '/pools/default', { upstream: UPSTREAM });
  });

  const show = (tab: string, on = page) => on.goto(`${server.origin}/admin/pools/default/${tab}`);
  const card = (title: string, on = page) => on.getByRole('region', { name: title, exact: true });
  const pool = async () => (await server.admin('GET', '/pools/default')).json;
  const secretsTyped = (): Promise<string[]> =>
    page.evaluate(`[...document.querySelectorAll('[type=password]')].map(({ value }) => value)
      .filter((value) => value !== '')`);

  it('stands as on a fresh page: with the next credential to add, and no secret', async () => {
    await show('settings');
    const upstream = card('Upstream');
    for (const name of ['first', 'second']) {
      const fresh = upstream.getByRole('group', { name: 'New credential' });
      await fresh.getByLabel('Name').fill(name);
      await fresh.getByLabel('Header', { exact: true }).fill('authorization');
      await fresh.getByLabel('Value').fill(`Bearer ${name}`);
      await page.keyboard.press('Enter');
      await upstream.getByRole('group', { name: `Credential ${name}` }).waitFor();
      expect(await secretsTyped()).toEqual([]);
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Save upstream');
    }
    expect(await upstream.locator('.told').textContent()).toContain('Saved; it applies');
    expect((await pool()).upstream.credentials.map(({ name }: { name: string }) => name))
      .toEqual(['first', 'second']);
  });

  it('forgets in the browser what its switch took away', async () => {
    const upstream = card('Upstream');
    const save = upstream.getByRole('button', { name: 'Save upstream' });
    await upstream.getByRole('switch').uncheck();
    await save.click();
    await upstream.getByText('Now: Off').waitFor();
    await upstream.getByRole('switch').check();
    await upstream.getByLabel('URL').fill(UPSTREAM.url);
    await save.click();
    await upstream.getByText('with the caller’s own credentials').waitFor();
    await show('access');
    const hmac = card('Signature (HMAC)');
    await hmac.getByRole('switch').check();
    await hmac.getByLabel('Secret', { exact: true }).fill('a-secret-of-thirty-two-characters-or');
    await hmac.getByRole('button').click();
    await hmac.getByText('Saved; it applies').waitFor();
    expect(await secretsTyped()).toEqual([]);
  });

  it('undoes nothing that another tab saved meanwhile', async () => {
    const other = await page.context().newPage();
    await show('settings');
    await show('settings', other);
    await card('Concurrency').getByLabel('Limit (slots)').fill('33');
    await card('Concurrency').getByRole('button').click();
    await card('Concurrency').getByText('Saved; it applies').waitFor();
    await card('Concurrency', other).getByLabel('Mode').selectOption('adaptive');
    await card('Concurrency', other).getByRole('button').click();
    await other.getByRole('alert').getByText('so nothing was saved').waitFor();
    expect((await pool()).concurrency).toMatchObject({ limit: 33, mode: 'fixed' });
    // The first tab knows what it saved itself.
    await card('Concurrency').getByLabel('Limit (slots)').fill('34');
    await card('Concurrency').getByRole('button').click();
    await expect.poll(async () => (await pool()).concurrency.limit).toBe(34);
    await other.close();
    expect(faults).toEqual([]);
  });

  it.each([['is not there yet', true], ['may not run', false]])(
    'puts no secret into the address where the script %s, and does nothing',
    async (_, javaScriptEnabled) => {
      const context = await page.context().browser()?.newContext({
        javaScriptEnabled,
        storageState: await page.context().storageState(),
      });
      const bare = await context?.newPage() as Page;
      await bare.route('**/htmx.js', (route) => route.abort());
      await show('access', bare);
      const notes = bare.locator('noscript p', { hasText: 'JavaScript is switched off' });
      expect(await notes.count()).toBe(javaScriptEnabled ? 0 : 1);
      const hmac = card('Signature (HMAC)', bare);
      await hmac.getByRole('switch').check();
      await hmac.getByLabel('Secret', { exact: true }).fill('s'.repeat(32));
      await hmac.getByRole('button').click();
      await bare.getByRole('heading', { name: 'Nothing was done' }).waitFor();
      expect(bare.url()).not.toContain('sss');
      await bare.goBack();
      expect(bare.url()).toBe(`${server.origin}/admin/pools/default/access`);
      await context?.close();
    },
  );
});
