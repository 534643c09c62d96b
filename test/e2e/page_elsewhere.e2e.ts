import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openSignedIn } from './browser.ts';
import type { PoolCalls, Server } from './server.ts';

const LONG = 'm'.repeat(63);
const HOUR_MS = 3_600_000;

describe.skipIf(CHROMIUM === undefined)('an open page', () => {
  let server: Server;
  let page: Page;
  let faults: string[];
  let pool: PoolCalls;

  beforeAll(async () => {
    ({ server, page, faults } = await openSignedIn());
    pool = await server.pool('shop', { concurrency: { limit: 1 } });
  });

  const go = (path: string) => page.goto(`${server.origin}/admin${path}`);
  const row = (name: string) => page.getByRole('row', { name });

  it('lists a pool that was made elsewhere, and no more one that was deleted', async () => {
    await go('');
    await page.getByText('2 of 2 pools.').waitFor();
    await server.pool('fresh');
    await row('fresh').waitFor();
    await page.getByText('3 of 3 pools.').waitFor();
    await server.admin('DELETE', '/pools/fresh');
    await row('fresh').waitFor({ state: 'detached' });
    await page.getByText('2 of 2 pools.').waitFor();
  });

  it('lists a pool that is made elsewhere only where the search would find it', async () => {
    await go('?search=sho');
    await page.getByText('1 of 2 pools.').waitFor();
    await server.pool('other');
    await server.pool('shop-2');
    await row('shop-2').waitFor();
    expect(await row('other').count()).toBe(0);
  });

  it('has the first pool that is made', async () => {
    for (const name of ['default', 'other', 'shop-2']) {
      await server.admin('DELETE', `/pools/${name}`);
    }
    await go('?search=zzz');
    await page.getByText('No pool has').waitFor();
    await server.pool('zzz');
    await row('zzz').waitFor();
    expect(await page.getByText('No pool has').count()).toBe(0);
  });

  it('can resume a pool that was paused elsewhere, and shows until when by one clock', async () => {
    await go('/pools/shop');
    const resume = page.getByRole('button', { name: 'Resume' });
    expect(await resume.count()).toBe(0);
    const until = page.locator('[data-field=pausedUntil]');
    await server.admin('POST', '/pools/shop/pause', { untilMs: Date.now() + 2 * HOUR_MS });
    await resume.waitFor();
    await until.getByText(/\d/).waitFor();
    const live = await until.textContent();
    await page.reload();
    expect(await until.textContent()).toBe(live);
    expect(await until.locator('time').getAttribute('title')).toMatch(/UTC$/);
    await server.admin('POST', '/pools/shop/resume');
    await resume.waitFor({ state: 'hidden' });
    expect(await until.textContent()).toBe('');
  });

  it('tells for how many attempts a row of the log stands, loaded and followed', async () => {
    const { slotId } = await pool.hold();
    const flood = () => Promise.all(Array.from({ length: 300 }, () => pool.acquire()));
    const counted = page.getByRole('cell', { name: /^too_many_requests × \d+$/ });
    await go('/pools/shop/log');
    await page.getByLabel('Follow').check();
    await page.waitForTimeout(300);
    await flood();
    await counted.first().waitFor();
    await go('/pools/shop/log');
    await counted.first().waitFor();
    await pool.release(slotId);
  });

  it('follows the log from its newest rows alone', async () => {
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    expect(await page.getByLabel('Follow').count()).toBe(0);
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.getByLabel('Follow').waitFor();
  });

  it('is as wide as a phone, whatever the name', async () => {
    await server.pool(LONG, { upstream: { url: 'http://127.0.0.1:9' } });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const upstream of [{ url: 'http://127.0.0.1:9' }, null]) {
      await server.admin('PATCH', `/pools/${LONG}`, { upstream });
      for (const tab of ['', '/slots', '/queue', '/settings', '/access', '/log']) {
        await go(`/pools/${LONG}${tab}`);
        const tooWide = 'document.documentElement.scrollWidth - innerWidth';
        expect(await page.evaluate(tooWide), tab).toBeLessThanOrEqual(0);
      }
    }
  });

  it('says that its pool was deleted', async () => {
    await go(`/pools/${LONG}`);
    const told = page.getByText('This pool was deleted');
    await server.admin('DELETE', `/pools/${LONG}`);
    await told.waitFor();
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  it('has the focus where the token goes', async () => {
    await page.context().clearCookies();
    await go('');
    expect(await page.evaluate('document.activeElement.name')).toBe('token');
  });
});
