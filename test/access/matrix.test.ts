/**
 * Every policy, with its proof absent, malformed, wrong, expired, replayed and right, on every
 * route that needs a caller. All that fails looks the same to the caller.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { HeaderLines } from '../../src/http1/header_lines.ts';
import { T0 } from '../support/pools.ts';
import { peerOf } from '../support/server.ts';
import { SECRET, World } from './support.ts';
import type { Ask } from './support.ts';
import { KeyServer, NOW_S, signerOf, tokenOf } from './tokens.ts';

type State = 'absent' | 'malformed' | 'wrong' | 'expired' | 'replayed' | 'right';
type Proof = (world: World, ask: Ask) => Promise<Record<string, string>> | Record<string, string>;

interface Row {
  readonly access: object;
  readonly proofs: Partial<Record<State, Proof>>;
}

const signer = await signerOf('rsa');
const stranger = await signerOf('rsa');
const JWT = { jwksUrl: 'https://issuer.test/keys', issuer: 'https://issuer.test', audience: 'app' };
const CF = { teamDomain: 'acme', audience: 'app' };
const CF_ISSUER = 'https://acme.cloudflareaccess.com';
const KEYLESS = { required: false };

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const assertion = (token: string) => ({ 'cf-access-jwt-assertion': token });
const cfToken = (claims: object, by = signer) =>
  tokenOf(by, { claims: { iss: CF_ISSUER, ...claims } });

const ROWS: Record<string, Row> = {
  key: {
    access: {},
    proofs: {
      absent: () => ({}),
      malformed: () => ({ 'x-nthpool-key': 'é"“ ' }),
      wrong: async (world) => ({ 'x-nthpool-key': await world.makeKey('other') }),
      expired: async (world) => ({ 'x-nthpool-key': await world.makeKey('p', T0) }),
      right: async (world) => ({ 'x-nthpool-key': await world.makeKey() }),
    },
  },
  'key in Authorization': {
    access: { key: { authorization: ['Nthbouncer', 'Bearer', 'Basic'] } },
    proofs: {
      absent: () => ({ authorization: 'Basic dTpw' }),
      malformed: () => ({ authorization: 'Nthbouncer' }),
      wrong: () => ({ authorization: 'Bearer nb_live_wrong' }),
      right: async (world) => {
        const basic = Buffer.from(`user:${await world.makeKey()}`).toString('base64');
        return { authorization: `basic ${basic}` };
      },
    },
  },
  hmac: {
    access: { key: KEYLESS, hmac: { secrets: [SECRET] } },
    proofs: {
      absent: () => ({}),
      malformed: (world, ask) => ({ ...world.signed(ask), 'x-nthpool-signature': 'v1=00' }),
      wrong: (world, ask) => world.signed({ ...ask, secret: 'wrong '.repeat(9) }),
      expired: (world, ask) => world.signed({ ...ask, timestamp: T0 - 300_001 }),
      replayed: async (world, ask) => {
        const headers = world.signed(ask);
        await world.ask({ ...ask, headers });
        return headers;
      },
      right: (world, ask) => world.signed(ask),
    },
  },
  jwt: {
    access: { key: KEYLESS, jwt: JWT },
    proofs: {
      absent: () => ({}),
      malformed: () => bearer('a.b'),
      wrong: async () => bearer(await tokenOf(stranger)),
      expired: async () => bearer(await tokenOf(signer, { claims: { exp: NOW_S - 31 } })),
      right: async () => bearer(await tokenOf(signer)),
    },
  },
  'cloudflare access': {
    access: { key: KEYLESS, cloudflareAccess: CF },
    proofs: {
      absent: () => ({}),
      malformed: () => assertion('a.b'),
      wrong: async () => assertion(await cfToken({}, stranger)),
      expired: async () => assertion(await cfToken({ exp: NOW_S - 31 })),
      right: async () => assertion(await cfToken({})),
    },
  },
};

const ROUTES = ['acquire', 'nobody/renew', 'nobody/release'];
const PASSED: Record<string, number> = { acquire: 200, 'nobody/renew': 404, 'nobody/release': 200 };

const cases = Object.entries(ROWS).flatMap(([policy, { access, proofs }]) =>
  Object.entries(proofs).flatMap(([state, proof]) =>
    ROUTES.map((path) => ({ policy, state, path, access, proof }))
  )
);

async function worldWith(access: object): Promise<World> {
  const world = await World.open({ fetch: new KeyServer(signer).fetch });
  expect((await world.makePool(access)).status).toBe(201);
  await world.makePool({}, 'other');
  return world;
}

/** What a caller can see of an answer. */
async function seenOf(answer: Response) {
  return {
    status: answer.status,
    headers: [...answer.headers.keys()].sort(),
    body: await answer.text(),
  };
}

let unknownPool: Awaited<ReturnType<typeof seenOf>>;
beforeAll(async () => {
  const world = await World.open();
  unknownPool = await seenOf(await world.ask({ headers: { 'x-nthpool-key': 'nb_live_x' } }));
  expect(unknownPool.status).toBe(401);
});

test.each(cases)('$policy $state on $path', async ({ state, path, access, proof }) => {
  const world = await worldWith(access);
  const body = '{}';
  const headers = await proof(world, { path, body });
  const answer = await world.ask({ path, body, headers: latin(headers) });
  if (state === 'right') return expect(answer.status).toBe(PASSED[path]);
  expect(await seenOf(answer)).toEqual(unknownPool);
  expect(world.remaining()).toBe(state === 'replayed' && path === 'acquire' ? 99 : 100);
});

/** Headers carry bytes; what is beyond them is cut, as a client would. */
function latin(headers: Record<string, string>): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    all.set(name, value.replace(/[^\u0020-\u00ff]/g, '?'));
  }
  return all;
}

describe('all policies together', () => {
  const access = {
    key: { headers: ['x-api-key'] },
    ip: { allow: ['127.0.0.1'] },
    hmac: { secrets: [SECRET] },
    jwt: { ...JWT, header: 'x-id-token' },
    cloudflareAccess: CF,
  };
  const proofsOf = async (world: World): Promise<Record<string, string>> => ({
    'x-api-key': await world.makeKey(),
    'x-id-token': await tokenOf(signer),
    'cf-access-jwt-assertion': await cfToken({}),
    ...world.signed(),
  });

  test('each must pass, and any one that is missing fails', async () => {
    const world = await worldWith(access);
    const proofs = await proofsOf(world);
    for (const name of Object.keys(proofs)) {
      const { [name]: _, ...headers } = proofs;
      expect(await world.status({ headers }), name).toBe(401);
    }
    expect(await world.status({ headers: proofs, from: '127.0.0.2' })).toBe(403);
    expect(await world.status({ headers: proofs })).toBe(200);
  });

  test('an access header that repeats fails', async () => {
    const world = await worldWith(access);
    const proofs = await proofsOf(world);
    for (const name of Object.keys(proofs)) {
      const joined = new Headers(proofs);
      joined.append(name, proofs[name] ?? '');
      expect(await world.status({ headers: joined }), name).toBe(401);
      const again = { ...proofs, ...world.signed() };
      const headers = [...Object.entries(again), [name, again[name] ?? '']] as [string, string][];
      expect(await world.status({ headers }), name).toBe(401);
    }
    const key = await world.makeKey();
    for (const scheme of ['Nthbouncer', 'Bearer']) {
      const headers = new Headers({ ...proofs, authorization: `${scheme} ${key}` });
      headers.append('authorization', `Nthbouncer ${key}`);
      expect(await world.status({ headers })).toBe(401);
    }
    expect(await world.status({ headers: proofs })).toBe(200);
  });

  test('the headers that carried a key or token are named, to be stripped', async () => {
    const world = await worldWith(access);
    const entry = world.server.directory.get('p');
    const headers = new Headers(await proofsOf(world));
    const judged = await world.server.access.gate.judge(entry, {
      pool: 'p',
      door: 'lock',
      method: 'POST',
      target: '/pools/p/lock/acquire',
      host: 'localhost',
      isOwnHost: true,
      headers: new HeaderLines([...headers]),
      address: world.server.access.addresses.read(peerOf('127.0.0.1'), headers),
      body: () => ({ kind: 'bytes', bytes: new Uint8Array(0) }),
    });
    expect(judged).toMatchObject({
      kind: 'pass',
      carriers: ['x-api-key', 'x-id-token', 'cf-access-jwt-assertion'],
      hasNonce: true,
    });
  });

  test('are judged at once where they can be, and always for keys and addresses', async () => {
    const world = await worldWith(access);
    await world.makePool({ ip: { allow: ['127.0.0.1'] } }, 'plain');
    const judge = (pool: string, headers: Record<string, string>) =>
      world.server.access.gate.judge(world.server.directory.get(pool), {
        pool,
        door: 'lock',
        method: 'POST',
        target: `/pools/${pool}/lock/acquire`,
        host: 'localhost',
        isOwnHost: true,
        headers: new HeaderLines(Object.entries(headers)),
        address: { kind: 'known', text: '127.0.0.1' },
        body: () => ({ kind: 'bytes', bytes: new Uint8Array(0) }),
      });
    const key = { 'x-nthpool-key': await world.makeKey('plain') };
    expect(judge('plain', key)).toMatchObject({ kind: 'pass' });
    const proofs = await proofsOf(world);
    expect(judge('p', proofs)).toBeInstanceOf(Promise);
    // The first one meets keys that are just being fetched, the second one is remembered.
    for (let i = 0; i < 2; i++) await judge('p', { ...proofs, ...world.signed() });
    expect(judge('p', { ...proofs, ...world.signed() })).toMatchObject({ kind: 'pass' });
  });
});

test('a key under a scheme that is not listed, in a query, or with blanks is none', async () => {
  const world = await worldWith({});
  const key = await world.makeKey();
  const lines = [
    `Basic ${key}`,
    `Digest ${key}`,
    `Bearer ${key}`,
    key,
    'Nthbouncer',
    `Nthbouncer ${key} x`,
    `Nthbouncer,${key}`,
    `Nthbouncer ${key},`,
  ];
  for (const authorization of lines) {
    expect(await world.status({ headers: { authorization } }), authorization).toBe(401);
  }
  for (const query of ['key', 'access_token', 'x-nthpool-key']) {
    expect(await world.status({ path: `acquire?${query}=${key}` })).toBe(401);
  }
  for (const value of [`${key}x`, key.toUpperCase(), `${key}, ${key}`, 'x'.repeat(10_000), ' ']) {
    expect(await world.status({ headers: { 'x-nthpool-key': value } })).toBe(401);
  }
  for (const authorization of [`nthbouncer ${key}`, `NTHBOUNCER   ${key}`]) {
    expect(await world.status({ headers: { authorization } })).toBe(200);
  }
  expect(await world.status({ headers: { 'x-nthpool-key': ` ${key}\t` } })).toBe(200);
});

test('a wrong key fails beside a right one, and where none is required', async () => {
  const world = await worldWith({ key: { required: false, headers: ['x-api-key'] } });
  const key = await world.makeKey();
  const status = (headers: HeadersInit) => world.status({ headers });
  expect(await status({})).toBe(200);
  expect(await status({ 'x-nthpool-key': key })).toBe(200);
  expect(await status({ 'x-nthpool-key': 'nb_wrong' })).toBe(401);
  expect(await status({ 'x-nthpool-key': '' })).toBe(401);
  expect(await status({ 'x-nthpool-key': key, 'x-api-key': 'nb_wrong' })).toBe(401);
  expect(await status({ 'x-nthpool-key': key, 'x-api-key': 'for the upstream' })).toBe(200);
  expect(await status([['x-api-key', 'a'], ['x-api-key', key]])).toBe(401);
});

test('a change of the rules applies at once', async () => {
  const world = await worldWith({});
  const headers = { 'x-nthpool-key': await world.makeKey() };
  const change = (access: object) => world.admin('PATCH', '/pools/p', { access });
  expect(await world.status({ headers })).toBe(200);
  await change({ ip: { deny: ['127.0.0.0/8'] } });
  expect(await world.status({ headers })).toBe(403);
  await change({ ip: { deny: [] }, hmac: { secrets: [SECRET] } });
  expect(await world.status({ headers })).toBe(401);
  await change({ hmac: null });
  expect(await world.status({ headers })).toBe(200);
  await change({ key: { required: false } });
  expect(await world.status({})).toBe(200);
});
