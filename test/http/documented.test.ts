/**
 * Real answers held against the API document as it is served: their status, their headers and every
 * field of their bodies. What the document leaves out is a fault of it too.
 */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ROWS } from '../../src/http/api_doc.ts';
import { AS_ADMIN, type Call, TestServer } from '../support/server.ts';

interface Schema {
  readonly [member: string]: unknown;
}

interface Said {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Document {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Said> }>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

/** Headers that any answer of HTTP may have. */
const USUAL = ['content-type', 'content-length', 'cache-control'];
const SECRET = 'a secret of the document 0123456789';

/** The schema with its references resolved, and closed to members that it does not name. */
function strict(schema: unknown, document: Document): unknown {
  if (Array.isArray(schema)) return schema.map((one) => strict(one, document));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) {
    return strict(document.components.schemas[$ref.split('/').at(-1) ?? ''], document);
  }
  const members = Object.entries(schema).map(([name, of]) => [name, strict(of, document)]);
  const closed = 'type' in schema && schema.type === 'object' && 'properties' in schema
    ? { additionalProperties: false }
    : {};
  return { ...closed, ...Object.fromEntries(members) };
}

/** One server whose every answer is looked at, and the answers that were seen. */
class Documented {
  readonly seen = new Set<string>();
  readonly test: TestServer;
  readonly #document: Document;
  readonly #schemas = new Map<unknown, z.ZodType>();

  private constructor(test: TestServer, document: Document) {
    this.test = test;
    this.#document = document;
  }

  static async start(): Promise<Documented> {
    const test = await TestServer.start();
    return new Documented(test, await (await test.call('/openapi.json')).json());
  }

  /** Calls the path that a route comes to with these names. */
  async ask(route: string, names: Record<string, string> = {}, call: Call = {}): Promise<unknown> {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replace(/\{(\w+)\}/g, (_, name) => names[name] ?? 'p1') +
      (names['query'] ?? '');
    const headers = { ...AS_ADMIN, ...call.headers as Record<string, string> };
    const answer = await this.test.call(path, { method, ...call, headers });
    const { responses } = this.#document.paths[template]?.[method.toLowerCase()] ?? {};
    const said = responses?.[answer.status] ?? responses?.['default'];
    const where = `${route} ${answer.status}`;
    this.seen.add(where);
    const told = [...answer.headers.keys()].filter((name) => !USUAL.includes(name));
    expect(Object.keys(said?.headers ?? {}), where).toEqual(expect.arrayContaining(told));
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    if (answer.body === null || type === '') return expect(said?.content, where).toBeUndefined();
    expect(Object.keys(said?.content ?? {}), where).toContain(type);
    if (type !== 'application/json') return void await answer.body.cancel();
    const body = await answer.json();
    expect(
      this.#schemaOf(said?.content?.[type]?.schema).safeParse(body).error?.message,
      `${where} ${JSON.stringify(body)}`,
    )
      .toBeUndefined();
    return body;
  }

  #schemaOf(json: unknown): z.ZodType {
    const known = this.#schemas.get(json);
    if (known !== undefined) return known;
    const schema = z.fromJSONSchema(strict(json, this.#document) as never);
    this.#schemas.set(json, schema);
    return schema;
  }

  acquire(body: unknown = {}, headers: Record<string, string> = {}, pool = 'p1') {
    return this.ask(ACQUIRE, { pool }, { body, headers });
  }
}

const ACQUIRE = 'POST /pools/{pool}/lock/acquire';
const RENEW = 'POST /pools/{pool}/lock/{slotId}/renew';
const RELEASE = 'POST /pools/{pool}/lock/{slotId}/release';
const POOL = '/admin/api/pools/{pool}';

/** A pool with every part that settings can have. */
const FULL = {
  name: 'full',
  concurrency: { mode: 'adaptive', limit: 1, max: 9 },
  rate: { rpm: 600, tpm: 1000, burst: 5, hints: { resetUnit: 's' } },
  access: {
    key: { authorization: ['Basic'], headers: ['x-key'] },
    ip: { deny: ['10.0.0.0/8'] },
    hmac: { secrets: [SECRET] },
    jwt: { secret: SECRET, issuer: 'me', requiredClaims: { role: ['a', 'b'] } },
    cloudflareAccess: { teamDomain: 'acme', audience: 'a' },
  },
  upstream: {
    url: 'http://127.0.0.1:9',
    hosts: ['full.test'],
    credentials: [{ name: 'one', header: 'authorization', value: 'Bearer 0123456789' }],
  },
};

async function administer(of: Documented): Promise<void> {
  await of.ask('POST /admin/api/pools', {}, { body: FULL });
  await of.ask('POST /admin/api/pools', {}, { body: FULL });
  await of.ask('POST /admin/api/pools', {}, { body: { name: 'No' } });
  const body = { name: 'p1', concurrency: { limit: 1 }, access: { key: { required: false } } };
  await of.ask('POST /admin/api/pools', {}, { body });
  for (const pool of ['p1', 'full', 'none']) {
    await of.ask(`PATCH ${POOL}`, { pool }, { body: { queue: { maxDepth: 5 } } });
    await of.ask(`POST ${POOL}/pause`, { pool }, { body: { reason: 'a break' } });
    await of.ask(`GET ${POOL}/status`, { pool });
    await of.ask(`POST ${POOL}/resume`, { pool });
    await of.ask(`POST ${POOL}/governor/forget`, { pool });
  }
  await of.ask(`POST ${POOL}/drain`, { pool: 'full' });
  const key = await of.ask(`POST ${POOL}/keys`, {}, { body: { name: 'k' } });
  await of.ask(`GET ${POOL}/keys`);
  await of.ask(`DELETE ${POOL}/keys/{id}`, { id: (key as { id: string }).id });
  await of.ask(`DELETE ${POOL}/keys/{id}`, { id: 'none' });
  await of.ask('GET /admin/api/pools', {}, { headers: { authorization: 'Bearer wrong' } });
}

async function takeSlots(of: Documented): Promise<void> {
  const grant = async (headers?: Record<string, string>) =>
    await of.acquire({ holder: 'h', tokens: 5 }, headers) as { slotId: string };
  const { slotId } = await grant({ 'idempotency-key': 'a' });
  await of.acquire();
  await of.acquire({ slots: 5 });
  await of.acquire('{');
  await of.acquire('x'.repeat(70_000));
  await of.acquire({}, {}, 'none');
  await of.acquire({}, {}, 'full');
  await of.acquire({}, { 'x-nthpool-queue-timeout-ms': 'x' });
  const late = of.acquire({ waitMs: 500 });
  await of.test.clock.settle();
  await of.test.clock.pass(500);
  await late;
  const waits = of.acquire({ waitMs: 5000 }, { 'idempotency-key': 'b' });
  await of.test.clock.settle();
  await of.acquire({}, { 'idempotency-key': 'b', 'x-nthpool-no-queue': '1' });
  for (const part of ['slots', 'waiters', 'status']) await of.ask(`GET ${POOL}/${part}`);
  await of.ask(RENEW, { slotId });
  await of.ask(RENEW, { slotId: 'none' });
  await of.ask(RELEASE, { slotId }, { body: { status: 429, throttled: 1, retryAfterMs: 1 } });
  await of.ask(RELEASE, { slotId }, { body: '{' });
  await of.test.clock.pass(4000);
  await waits;
  const { slots: [held] } = await of.ask(`GET ${POOL}/slots`) as { slots: { ref: string }[] };
  await of.ask(`DELETE ${POOL}/slots/{ref}`, { ref: held?.ref ?? '' });
  await of.ask(`PATCH ${POOL}`, {}, {
    body: { rate: { rpm: 600 }, lease: { termMs: 30_000, requestTimeoutMs: 5000 } },
  });
  await of.test.clock.pass(60_000);
  const short = await grant();
  await of.ask(RENEW, short);
}

async function readAll(of: Documented): Promise<void> {
  await of.test.call('/', { host: 'full.test' });
  for (const route of Object.keys(ROWS).filter((route) => route.startsWith('GET '))) {
    for (const pool of ['p1', 'full', 'none']) await of.ask(route, { pool });
  }
  await of.ask(`GET ${POOL}/log`, { query: '?limit=0' });
  await of.ask(`GET ${POOL}/history`, { query: '?span=9h' });
  of.test.server.desk.watch.close();
  await of.ask(`DELETE ${POOL}`, { pool: 'full' });
  of.test.server.scheduler.drain();
  await of.acquire();
  await of.ask('GET /readyz');
}

it('every answer is as the document says', async () => {
  const of = await Documented.start();
  await administer(of);
  await takeSlots(of);
  await readAll(of);
  const wanted = Object.entries(ROWS).map(([route, { status = 200 }]) => `${route} ${status}`);
  const refusals = [400, 401, 413, 429, 503, 504].map((status) => `${ACQUIRE} ${status}`);
  const rest = [`${RENEW} 404`, `${RENEW} 409`, `${RELEASE} 400`, `GET ${POOL} 404`];
  expect([...of.seen]).toEqual(expect.arrayContaining([...wanted, ...refusals, ...rest]));
});

it('an operation that is called by another method tells in which', async () => {
  const test = await TestServer.start();
  const document = await (await test.call('/openapi.json')).json() as Document;
  const answer = await test.call('/pools/p1/lock/acquire');
  expect(answer.headers.get('allow')).toBe('POST');
  const { responses } = document.paths['/pools/{pool}/lock/acquire']?.['post'] ?? {};
  expect(responses?.['default']?.headers).toHaveProperty('allow');
});
