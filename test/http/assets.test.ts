/**
 * The files of packages that the page asks for are there, and are the ones that a compiled binary
 * embeds: what one list has and the other has not would be missing from the binary alone.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Door } from './door.ts';

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const filesIn = (text: string) => {
  return [...text.matchAll(/'(?:\.\.\/)*(node_modules\/[^']+\.(?:js|css))'/g)]
    .map(([, path]) => path).sort();
};
const SERVED = textOf('src/http/assets.ts');

it('what the server reads of packages is what a binary embeds', () => {
  const served = filesIn(SERVED);
  expect(served.length).toBeGreaterThan(0);
  expect(filesIn(textOf('.ci/compile.mjs'))).toEqual(served);
});

it('every file of the page is served, with a mark', async () => {
  const door = await Door.open();
  const names = [...SERVED.matchAll(/^ {2}'([a-z]+\.(?:js|css))': \[/gm)].map(([, name]) => name);
  expect(names).toContain('rapidoc.js');
  for (const name of names) {
    const { status, headers, text } = await door.call('GET', `/admin/assets/${name}`);
    expect(status, name).toBe(200);
    expect(headers.get('etag'), name).toMatch(/^"[\w-]{43}"$/);
    expect(text.length, name).toBeGreaterThan(0);
  }
  expect((await door.call('GET', '/admin/assets/other.js')).status).toBe(404);
});

it('a file that the browser has is not sent again, however it names the mark', async () => {
  const door = await Door.open();
  const ask = (named: string) =>
    door.call('GET', '/admin/assets/admin.css', { headers: { 'if-none-match': named } });
  const mark = (await ask('"other"')).headers.get('etag') ?? '';
  for (const named of [mark, `W/${mark}`, `"a,b", W/"c" ,W/${mark}`, '*']) {
    const { status, headers, text } = await ask(named);
    expect([status, headers.get('etag'), text], named).toEqual([304, mark, '']);
  }
  for (const named of ['', '"other"', 'W/"other", "x"', mark.slice(1)]) {
    expect((await ask(named)).status, named).toBe(200);
  }
});
