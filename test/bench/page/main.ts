/**
 * `npm run bench:page`: what an open admin page costs the callers. There are 100 pools and 11 000
 * held slots, 10 000 of them in one pool; acquire + release on another pool is measured in turn
 * without a page and with three open in Chromium (the list of pools, the slots of the wide pool, a
 * log with "Follow"). Prints the median ratio. Needs wrk on the PATH and a Chromium. Options:
 * --seconds N, --rounds N, --connections N.
 */
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';
import { inFolder, median, optionsOf } from '../head.ts';
import { runPairs } from '../locks/pairs.ts';
import { admin, ADMIN_TOKEN, startServer, type Target } from '../locks/servers.ts';

const RATIO_WANTED = 0.9;
const POOLS = 100;
const SLOTS_A_POOL = 10;
/** In one pool, so that one page shows very many. */
const SLOTS_WIDE = 10_000;
const CHROMIUM = Deno.env.get('CHROMIUM') ?? '/usr/bin/chromium';

const values = optionsOf({ seconds: '4', rounds: '7', connections: '64' });
await inFolder(main);

async function main(folder: string): Promise<void> {
  const server = await startServer(folder);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    await fill(server);
    const options = { connections: Number(values.connections), seconds: Number(values.seconds) };
    await runPairs(server, options);
    const ratios: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const measure = () => runPairs(server, options);
      // Which comes first alternates, so that a machine that slows down favours neither.
      const early = round % 2 === 0 ? await measure() : null;
      const open = await withPages(browser, server, measure);
      const shut = early ?? await measure();
      ratios.push(open.rate / shut.rate);
      console.log(
        `round ${round + 1}: ${shut.rate.toFixed(0)} requests/s without, ` +
          `${open.rate.toFixed(0)} with the page open: ${(open.rate / shut.rate).toFixed(3)}`,
      );
    }
    const ratio = median(ratios);
    console.log(`median of ${ratios.length}: ${ratio.toFixed(3)} (wanted: ${RATIO_WANTED})`);
    if (!(ratio >= RATIO_WANTED)) Deno.exitCode = 1;
  } finally {
    await browser.close();
    await server.end();
  }
}

/** Makes the pools, and takes the slots that the pages show. */
async function fill({ origin }: Target): Promise<void> {
  const lease = { termMs: 3_600_000, requestTimeoutMs: 86_400_000 };
  for (let i = 0; i < POOLS; i++) {
    const slots = i === 0 ? SLOTS_WIDE : SLOTS_A_POOL;
    const name = i === 0 ? 'wide' : `pool-${i}`;
    const concurrency = { limit: 100_000 };
    await admin(origin, '/pools', { name, concurrency, lease });
    const { key = '' } = await admin(origin, `/pools/${name}/keys`, { name: 'bench' });
    for (let taken = 0; taken < slots; taken += 100) {
      const batch = Math.min(100, slots - taken);
      await Promise.all(Array.from({ length: batch }, () => take(origin, name, key)));
    }
  }
}

async function take(origin: string, pool: string, key: string): Promise<void> {
  const answer = await fetch(`${origin}/pools/${pool}/lock/acquire`, {
    method: 'POST',
    headers: { 'x-nthpool-key': key },
    body: '{"holder":"held for the page"}',
  });
  await answer.body?.cancel();
  if (answer.status !== 200) throw new Error(`acquire in ${pool}: ${answer.status}`);
}

/** Does the work while the pages are open and live. */
async function withPages<T>(
  browser: Browser,
  { origin }: Target,
  work: () => Promise<T>,
): Promise<T> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(`${origin}/admin/sign-in`);
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Pools' }).waitFor();
    const slots = await context.newPage();
    await slots.goto(`${origin}/admin/pools/wide/slots`);
    await slots.getByRole('heading', { name: 'Held slots' }).waitFor();
    const log = await context.newPage();
    await log.goto(`${origin}/admin/pools/bench/log`);
    await log.getByLabel('Follow').check();
    return await work();
  } finally {
    await context.close();
  }
}
