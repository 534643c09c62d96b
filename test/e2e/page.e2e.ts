import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, CHROMIUM, look, open, SHOTS } from './browser.ts';
import { ADMIN_TOKEN, PoolCalls, type Server } from './server.ts';

const NASTY = '<img src=x onerror=alert(1)>"><svg/onload=alert(1)>';

describe.skipIf(CHROMIUM === undefined)('the admin page', () => {
  let server: Server;
  let page: Page;
  let key = '';
  let faults: string[];

  beforeAll(async () => {
    ({ server, page, faults } = await open());
    page.on('dialog', () => faults.push('a dialog opened'));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(server.origin) && !url.startsWith('data:')) faults.push(url);
    });
  });

  const go = (path: string) => page.goto(`${server.origin}${path}`);
  const acquire = (body: object) => new PoolCalls(server, 'shop', key).acquire(body);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

  /** The values change live, so they do not tell that the page that follows is there. */
  const pressForPage = async (name: string) => {
    const follows = page.waitForEvent('load');
    await press(name);
    await follows;
  };

  it('asks who is there, lets the token in, and goes on where it was asked to', async () => {
    const asked = '/admin/pools/default/log?outcome=granted&minutes=5';
    await go(asked);
    expect(new URL(page.url()).pathname).toBe('/admin/sign-in');
    expect(await look(page, 'sign-in')).toEqual([]);
    await page.getByLabel('Admin token').fill('wrong');
    await press('Sign in');
    expect(await page.getByRole('alert').textContent()).toContain('not the admin token');
    faults.length = 0; // The browser reports the 401.
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.origin}${asked}`);
    await go('/admin');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: 'nthbouncer', httpOnly: true, sameSite: 'Strict' });
  });

  it('makes a pool, and says why it will not make it twice', async () => {
    await page.getByLabel('Name').fill('default');
    await press('Make the pool');
    await page.getByText('A pool of this name exists already.').waitFor();
    await page.getByLabel('Name').fill('shop');
    await page.getByLabel('Slots').fill('2');
    await press('Make the pool');
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    expect(await page.getByText('fixed by the operator').count()).toBe(1);
    // So that nothing lapses while the pictures are taken.
    const patched = await server.admin('PATCH', '/pools/shop', {
      lease: { termMs: 600_000, requestTimeoutMs: 600_000 },
      queue: { timeoutMs: 300_000 },
    });
    expect(patched.status).toBe(200);
  });

  it('makes a key that is shown once, with which a caller gets a slot', async () => {
    await page.getByRole('link', { name: 'access', exact: true }).click();
    await page.getByText('No key yet').waitFor();
    await page.getByLabel('Name of the new key').fill(NASTY);
    await page.getByLabel('Expires after (days)').fill('30');
    const make = page.getByRole('button', { name: 'Make a key' });
    const path = '**/act/make-key';
    let answer = () => {};
    await page.route(path, async (asked) => {
      await new Promise<void>((done) => answer = done);
      await asked.continue();
    });
    // Clicks while it is made, and one after it was told: each would be a key that nobody sees.
    await make.dblclick();
    await make.click();
    answer();
    key = await page.locator('#fresh-key').textContent() ?? '';
    expect(key).toMatch(/^nb_live_/);
    await make.dblclick();
    await page.waitForTimeout(300);
    expect(await page.locator('#fresh-key').textContent()).toBe(key);
    await page.unroute(path);
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('rowheader', { name: NASTY }).waitFor();
    expect(await page.locator('tbody[data-rows="Keys of the pool"] tr').count()).toBe(1);
    expect(await page.content()).not.toContain(key);
    expect((await acquire({ holder: NASTY })).status).toBe(200);
    expect(await look(page, 'access')).toEqual([]);
  });

  it('shows pools live, without a reload', async () => {
    await go('/admin');
    const row = page.getByRole('row', { name: /shop/ });
    expect(await row.locator('[data-field=inUse]').textContent()).toBe('1');
    await acquire({ holder: '=2+5' });
    void acquire({ waitMs: 300_000, holder: 'third' });
    await row.getByText('waiting').waitFor();
    expect(await row.locator('[data-field=inUse]').textContent()).toBe('2');
    expect(await row.locator('[data-field=queued]').textContent()).toBe('1');
    expect(await look(page, 'pools')).toEqual([]);
  });

  it('has charts, the reason and examples that are filled in', async () => {
    await page.getByRole('link', { name: 'shop' }).click();
    await page.locator('.uplot canvas').first().waitFor();
    // In the middle of the span nothing was done yet, and the limit is told all the same.
    const chart = page.locator('[data-chart="slots"]');
    await chart.locator('.u-over').hover();
    await chart.locator('.u-series', { hasText: 'limit' }).getByText('2', { exact: true })
      .waitFor();
    const code = await page.locator('#code-curl').textContent();
    expect(code).toContain(`${server.origin}/pools/shop/lock`);
    await page.getByLabel('Span of the charts').selectOption('24h');
    expect(await look(page, 'overview')).toEqual([]);
  });

  it('shows who waits behind what, and takes a slot back', async () => {
    await page.getByRole('link', { name: 'queue', exact: true }).click();
    await page.getByText(/2 of 2 slots in use/).waitFor();
    expect(await look(page, 'queue')).toEqual([]);
    await page.getByRole('link', { name: 'slots', exact: true }).click();
    await page.getByRole('cell', { name: NASTY }).first().waitFor();
    expect(await look(page, 'slots')).toEqual([]);
    const row = page.getByRole('row', { name: /=2\+5/ });
    await row.locator('summary').click();
    await row.getByText('Whoever waits first gets the slot.').waitFor();
    expect(await look(page, 'take-back')).toEqual([]);
    await row.getByRole('button', { name: 'Take back' }).click();
    await page.getByRole('cell', { name: 'third' }).waitFor();
    expect(await page.getByRole('cell', { name: '=2+5' }).count()).toBe(0);
  });

  it('changes settings at once, and shows what is out of bounds', async () => {
    await page.getByRole('link', { name: 'settings', exact: true }).click();
    await page.getByLabel('Limit (slots)').fill('5');
    await press('Save concurrency');
    await page.getByText('Saved; it applies from now on.').waitFor();
    await page.locator('[data-live=pool] [data-field=effectiveLimit]', { hasText: '5' }).waitFor();
    await page.getByLabel('Renew every (ms)').fill('900000');
    await press('Save lease');
    await page.getByText('must be less than termMs', { exact: true }).waitFor();
    const field = page.getByLabel('Renew every (ms)');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await field.inputValue()).toBe('900000');
    expect(await page.evaluate('document.activeElement.name')).toBe('lease.renewIntervalMs:int');
    expect(await look(page, 'settings')).toEqual([]);
  });

  it('shows the access log, follows it, and exports it harmlessly', async () => {
    await page.getByRole('link', { name: 'log', exact: true }).click();
    await page.getByRole('cell', { name: '=2+5' }).waitFor();
    await page.getByLabel('Follow').check();
    await page.waitForTimeout(300);
    await acquire({ holder: 'followed' });
    await page.getByRole('cell', { name: 'followed' }).waitFor();
    expect(await look(page, 'log')).toEqual([]);
    const file = async (form: string) =>
      (await page.request.get(`${server.origin}/admin/pools/shop/log/export.${form}`)).text();
    const csv = await file('csv');
    expect(csv).toContain(",'=2+5,");
    expect(csv).not.toMatch(/,[=+@-]/);
    const lines = (await file('jsonl')).trim().split('\n').map((line) => JSON.parse(line));
    expect(lines.map(({ holder }) => holder)).toContain('=2+5');
    await page.getByLabel('Outcome').selectOption('queue_timeout');
    await press('Filter');
    await page.getByText('No attempt matches').waitFor();
  });

  it('pauses, resumes, drains and deletes, the last two by a typed name', async () => {
    // The list of changes tells it, too.
    const reason = (text: string) => page.locator('[data-field=reason]', { hasText: text });
    await go('/admin/pools/shop');
    await page.getByLabel('Reason, shown to whoever looks').fill('upstream moves');
    await pressForPage('Pause');
    await reason('paused by the operator: upstream moves').waitFor();
    expect(await look(page, 'paused')).toEqual([]);
    await pressForPage('Resume');
    await reason('fixed by the operator').waitFor();
    await page.getByLabel('For so many minutes').fill('30');
    await pressForPage('Pause');
    await page.getByText(/paused by the operator, until \d/).waitFor();
    const status = await page.request.get(`${server.origin}/admin/api/pools/shop/status`);
    const { pausedUntil } = await status.json();
    expect(Math.abs(pausedUntil - Date.now() - 30 * 60_000)).toBeLessThan(60_000);
    await pressForPage('Resume');
    await reason('fixed by the operator').waitFor();
    await press('Forget what was learned');
    await page.getByText('Forgotten; what callers report').waitFor();
    await page.getByText('Drain: grant').click();
    await page.getByText('Delete the pool').click();
    expect(await look(page, 'drain-delete')).toEqual([]);
    await page.locator('form[hx-post$="/drain"] input').fill('shop');
    await pressForPage('Drain');
    await reason('paused by the operator: draining').waitFor();
    await page.getByText('Delete the pool').click();
    const typed = page.locator('form[hx-post$="/delete"] input');
    await typed.fill('shopp');
    await press('Delete');
    await page.getByText('nothing was done').waitFor();
    await typed.fill('shop');
    await press('Delete');
    await page.getByRole('heading', { name: 'Pools' }).waitFor();
    expect(await page.getByRole('link', { name: 'shop' }).count()).toBe(0);
  });

  it("has the API's reference, drawn without anything from outside", async () => {
    faults.length = 0;
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByText('Acquire a slot').first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(300);
      expect(await axeFindings(page)).toEqual([]);
      await page.screenshot({ path: `${SHOTS}/docs-1280-${colorScheme}.png` });
    }
    expect(faults).toEqual([]);
    faults.length = 0;
    await go('/admin');
  }, 120_000);

  it('signs out, ran no foreign script and asked nobody outside', async () => {
    await press('Sign out');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await go('/admin');
    expect(page.url()).toContain('/admin/sign-in');
    expect(faults).toEqual([]);
  });
});
