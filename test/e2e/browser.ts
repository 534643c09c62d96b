/**
 * A real server in a process of its own and a real browser before it. Where there is no Chromium
 * the tests are skipped, and say so.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { canary, searchAnswer, watch } from './canary.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const CHROMIUM = process.env['CHROMIUM'] ?? PATHS.find((path) => existsSync(path));
export const ADMIN_TOKEN = canary('admin-token');
export const SHOTS = join(tmpdir(), 'nthbouncer-shots');

if (CHROMIUM === undefined) {
  process.stderr.write('skipped: no Chromium here (apt-get install chromium, or set CHROMIUM)\n');
}
mkdirSync(SHOTS, { recursive: true });

export interface Running {
  readonly origin: string;
  readonly stop: () => Promise<void>;
}

export async function startServer(more: readonly string[] = []): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'nthbouncer-e2e-'));
  const place = ['--port', '0', '--db', `file:${join(folder, 'e2e.db')}`];
  const words = ['run', '-A', 'src/main.ts', 'serve', ...place, ...more];
  const child = spawn('node_modules/.bin/deno', words, {
    env: { ...process.env, NTHBOUNCER_ADMIN_TOKEN: ADMIN_TOKEN, NO_COLOR: '1' },
  });
  watch(child, words);
  const origin = await new Promise<string>((found, failed) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const line = /listening on (\S+)/.exec(text);
      if (line?.[1] !== undefined) found(line[1]);
    });
    child.on('exit', (code) => failed(new Error(`the server ended with ${code}`)));
  });
  const ended = new Promise<void>((done) => child.on('exit', () => done()));
  return {
    origin,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

/** What axe finds on the page, one line a rule and place. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
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
