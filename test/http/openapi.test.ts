import { mkdtempSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import openapi, { astToString } from 'openapi-typescript';
import { describe, expect, it } from 'vitest';
import { ROWS } from '../../src/http/api_doc.ts';
import { apiDocument } from '../../src/http/openapi.ts';
import { ROUTES } from '../../src/http/routes.ts';
import { TestServer } from '../support/server.ts';

describe('the API document', () => {
  it('has the routes that there are, and no other', () => {
    const routes = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const locks = Object.keys(ROWS).filter((route) => route.includes('/lock/'));
    expect(locks).toHaveLength(3);
    expect(Object.keys(ROWS).sort()).toEqual([...routes, ...locks].sort());
  });

  it('is served to anybody', async () => {
    const test = await TestServer.start();
    const answer = await test.call('/openapi.json');
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(apiDocument())));
    const page = await test.call('/docs');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('makes a client that compiles and names what is there', async () => {
    const types = astToString(await openapi(apiDocument() as never));
    const folder = mkdtempSync(join(tmpdir(), 'nthbouncer-openapi-'));
    writeFileSync(join(folder, 'api.ts'), types);
    writeFileSync(
      join(folder, 'use.ts'),
      `import type { paths } from './api.ts';
type Acquire = paths['/pools/{pool}/lock/acquire']['post'];
type Grant = Acquire['responses'][200]['content']['application/json'];
export const slotOf = (grant: Grant): string => grant.slotId;
export const body: Acquire['requestBody'] = {
  content: { 'application/json': { waitMs: 5, holder: null } },
};
export const asked: Acquire['parameters']['header'] = { 'idempotency-key': 'a' };
export type Left = Acquire['responses'][200]['headers']['x-nthpool-remaining-slots'];
// @ts-expect-error the body has no such field
export const wrong: keyof NonNullable<Acquire['requestBody']>['content'] = 'text/plain';
`,
    );
    execFileSync(resolve('node_modules/.bin/deno'), ['check', join(folder, 'use.ts')]);
  }, 60_000);
});
