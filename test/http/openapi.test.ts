import { mkdtempSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import openapi, { astToString } from 'openapi-typescript';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ROWS } from '../../src/http/api_doc.ts';
import { apiDocument } from '../../src/http/openapi.ts';
import { ROUTES } from '../../src/http/routes.ts';
import { TestServer } from '../support/server.ts';

const POOL = '/admin/api/pools/{pool}';

/** Whether a body is as the document says of an operation. */
function fits(path: string, method: string, body: unknown): boolean {
  const paths = apiDocument()['paths'] as Record<string, Record<string, unknown>>;
  const { requestBody } = paths[path]?.[method] as {
    requestBody: { content: Record<string, { schema: object }> };
  };
  const schema = requestBody.content['application/json']?.schema;
  return z.fromJSONSchema(schema as never).safeParse(body).success;
}

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

  it.each([
    ['acquire', { waitMs: 5 }, { waitMs: 1.5 }],
    ['{slotId}/release', { throttled: 1 }, { throttled: 1.5 }],
  ])('of %s wants whole numbers where the server does', (verb, whole, broken) => {
    const path = `/pools/{pool}/lock/${verb}`;
    expect([fits(path, 'post', whole), fits(path, 'post', broken)]).toEqual([true, false]);
  });

  it.each([
    [{}, true],
    [{ lease: { termMs: 5000 } }, true],
    [{ lease: { termMs: null }, concurrency: null, access: { jwt: null } }, true],
    [{ access: { jwt: { requiredClaims: { role: null } }, ip: { allow: ['::1'] } } }, true],
    [{ upstream: { requestTimeoutMs: null } }, true],
    [{ lease: { termMs: 'long' } }, false],
    [{ access: { ip: { allow: [null] } } }, false],
    [{ leese: {} }, false],
  ])('of a change by merge names the fields, each of which may be left out or null: %j', (
    patch,
    isRight,
  ) => {
    expect(fits(POOL, 'patch', patch)).toBe(isRight);
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
type Patch = paths['${POOL}']['patch']['requestBody'];
export const patch: Patch = {
  content: { 'application/json': { rate: { rpm: null }, concurrency: { limit: 3 } } },
};
// @ts-expect-error a number is wanted
export const wide: Patch = { content: { 'application/json': { concurrency: { limit: 'x' } } } };
export type Left = Acquire['responses'][200]['headers']['x-nthpool-remaining-slots'];
// @ts-expect-error the body has no such field
export const wrong: keyof NonNullable<Acquire['requestBody']>['content'] = 'text/plain';
`,
    );
    execFileSync(resolve('node_modules/.bin/deno'), ['check', join(folder, 'use.ts')]);
  }, 60_000);
});
