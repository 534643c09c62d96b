/**
 * A real browser before a real server. Where there is no Chromium the tests are skipped, and say
 * so.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { afterAll } from 'vitest';
import { searchAnswer } from './canary.ts';
import { ADMIN_TOKEN, type Server, type ServerOptions, startServer } from './server.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const CHROMIUM = process.env['CHROMIUM'] ?? PATHS.find((path) => existsSync(path));
export const SHOTS = join(tmpdir(), 'nthbouncer-shots');

if (CHROMIUM === undefined) {
  process.stderr.write('skipped: no Chromium here (apt-get install chromium, or set CHROMIUM)\n');
}
mkdirSync(SHOTS, { recursive: true });

let browser: Browser | null = null;
afterAll(() => browser?.close());

export interface Seen {
  readonly server: Server;
  readonly page: Page;
  /** What the page complained of. */
  readonly faults: string[];
}

/** Starts a server, and opens a page that has yet to go somewhere. */
export async function open(options: ServerOptions = {}): Promise<Seen> {
  const server = await startServer(options);
  browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(20_000);
  const faults: string[] = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  return { server, page, faults };
}

/** The same with the administrator signed in. */
export async function openSignedIn(): Promise<Seen> {
  const seen = await open();
  await seen.page.goto(`${seen.server.origin}/admin/sign-in`);
  await signIn(seen.page);
  return seen;
}

/** Fills in the form that signs an administrator in, and waits for the pools. */
export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pools' }).waitFor();
}

const AXE_TRIES = 8;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

/** What axe finds on the page, one line a rule and place. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  for (let tries = 1;; tries += 1) {
    const findings = await runAxe(page);
    // A transition that a busy machine draws late is none: what stays for seconds is.
    if (findings.length === 0 || tries === AXE_TRIES) return findings;
    await page.waitForTimeout(500);
  }
}

async function runAxe(page: Page): Promise<string[]> {
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

/** Screenshots at both widths in both schemes, with axe run in each; returns its findings. */
export async function look(page: Page, name: string): Promise<string[]> {
  const findings: string[] = [];
  searchAnswer('GET', new URL(page.url()).pathname, await page.content());
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 360]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(250);
      const path = join(SHOTS, `${name}-${width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
      findings.push(...(await axeFindings(page)).map((each) => `${name} ${width} ${each}`));
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (wide > 0) findings.push(`${name} ${width}: ${wide} px too wide`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  return findings;
}
