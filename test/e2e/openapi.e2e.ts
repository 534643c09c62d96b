/** A client that is made from the API document, compiled and run against a server. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import openapi, { astToString } from 'openapi-typescript';
import { beforeAll, expect, it } from 'vitest';
import { freshFolder } from './process.ts';
import { ADMIN_TOKEN, Server } from './server.ts';

const server = new Server();
const folder = freshFolder();
let key = '';

beforeAll(async () => {
  await server.start();
  ({ key } = await server.pool('p', { concurrency: { limit: 1 } }));
}, 20_000);

const PROGRAM = `import type { paths } from './api.ts';

type Json<T> = T extends { content: { 'application/json': infer J } } ? J : undefined;
type Method<P extends keyof paths> = keyof paths[P] & ('get' | 'post' | 'patch' | 'delete');
type Answer<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 204)]> : never;
type Body<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : undefined;
const [url, key, token] = Deno.args;

async function call<P extends keyof paths, M extends Method<P>>(
  method: M, path: P, names: Record<string, string>, body?: Body<paths[P][M]>,
): Promise<Answer<paths[P][M]>> {
  const filled = path.replace(/\\{(\\w+)\\}/g, (_, name) => names[name] ?? '');
  const headers = { 'x-nthpool-key': key ?? '', authorization: \`Bearer \${token}\` };
  const answer = await fetch(url + filled, {
    method: method.toUpperCase(), headers, body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(\`\${method} \${path}: \${answer.status}\`);
  return (answer.status === 204 ? undefined : await answer.json()) as Answer<paths[P][M]>;
}

const pool = 'p';
const acquire = '/pools/{pool}/lock/acquire';
const grant = await call('post', acquire, { pool }, { waitMs: 5, holder: 'h' });
const { slotId } = grant;
const renewed = await call('post', '/pools/{pool}/lock/{slotId}/renew', { pool, slotId });
const held = await call('get', '/admin/api/pools/{pool}/slots', { pool });
const released = await call('post', '/pools/{pool}/lock/{slotId}/release', { pool, slotId }, {
  status: 200,
});
const changed = await call('patch', '/admin/api/pools/{pool}', { pool }, {
  concurrency: { limit: 3 },
});
const made = await call('post', '/admin/api/pools/{pool}/keys', { pool }, { name: 'second' });
await call('delete', '/admin/api/pools/{pool}/keys/{id}', { pool, id: made.id });
const { keys } = await call('get', '/admin/api/pools/{pool}/keys', { pool });
// @ts-expect-error no grant has it
void grant.token;
console.log(JSON.stringify({
  fence: grant.fence, renewed: typeof renewed.leaseDeadline, held: held.slots.map((s) => s.holder),
  released: released.released, limit: changed.concurrency.limit, keys: keys.map((k) => k.name),
}));
`;

it('does what its types say', async () => {
  const document = await (await fetch(`${server.origin}/openapi.json`)).json();
  writeFileSync(join(folder, 'api.ts'), astToString(await openapi(document)));
  writeFileSync(join(folder, 'use.ts'), PROGRAM);
  const words = ['run', '--check', '--allow-net', join(folder, 'use.ts')];
  const out = execFileSync(resolve('node_modules/.bin/deno'), [
    ...words,
    server.origin,
    key,
    ADMIN_TOKEN,
  ], { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
  expect(JSON.parse(out)).toEqual({
    fence: expect.any(Number),
    renewed: 'number',
    held: ['h'],
    released: true,
    limit: 3,
    keys: ['test'],
  });
}, 60_000);
