import { describe, expect, test } from 'vitest';
import { turn, turns, World } from './support.ts';
import type { Behaviour, Signer } from './tokens.ts';
import { KeyServer, signerOf, tokenOf } from './tokens.ts';

const URL_OF_KEYS = 'https://issuer.test/keys';
const rsa = await signerOf('rsa');
const next = await signerOf('next');
const LONG = { claims: { exp: 4_000_000_000 } };

async function worldWith(keys: KeyServer) {
  const world = await World.open({ fetch: keys.fetch });
  await world.makePool({ key: { required: false }, jwt: { jwksUrl: URL_OF_KEYS } });
  await world.makePool({}, 'keyed');
  const pass = async (signer: Signer) => {
    const authorization = `Bearer ${await tokenOf(signer, LONG)}`;
    return world.status({ headers: { authorization } });
  };
  return { world, pass };
}

const troubles: [string, Behaviour][] = [
  ['refuses', () => Promise.reject(new Error('connection refused'))],
  ['hangs', () => new Promise(() => {})],
  ['answers 500', () => new Response('{"keys":[]}', { status: 500 })],
  ['redirects', () => new Response(null, { status: 302, headers: { location: '/' } })],
  ['answers HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ['answers JSON that is no key set', () => Response.json({ keys: 'none' })],
  ['answers 10 MB', () => new Response(' '.repeat(10_000_000))],
  ['sends its body for ever', () => new Response(new ReadableStream({ pull: () => {} }))],
];

describe.each(troubles)('a key server that %s', (_, behave) => {
  test('leaves known keys in use, and lets nobody in on unknown ones', async () => {
    const keys = new KeyServer(rsa);
    const { world, pass } = await worldWith(keys);
    expect(await pass(rsa)).toBe(200);
    keys.behave = behave;
    await world.clock.pass(24 * 3_600_000);
    expect(await pass(rsa)).toBe(200);
    const stranger = pass(next);
    await turns();
    await world.clock.pass(5_000);
    expect(await stranger).toBe(401);
    expect(await pass(rsa)).toBe(200);
    keys.behave = () => keys.publish(rsa, next);
    await world.clock.pass(31_000);
    expect(await pass(next)).toBe(200);
  });

  test('fails closed within 5 s when nothing is known, and recovers by itself', async () => {
    const keys = new KeyServer(rsa);
    keys.behave = behave;
    const { world, pass } = await worldWith(keys);
    const first = pass(rsa);
    await turns();
    const keyed = { 'x-nthpool-key': await world.makeKey('keyed') };
    expect(await world.status({ pool: 'keyed', headers: keyed })).toBe(200);
    await world.clock.pass(5_000);
    expect(await first).toBe(401);
    expect(await world.reason()).toBe('jwt: keys unavailable');
    keys.behave = () => keys.publish(rsa);
    await world.clock.pass(1_000);
    expect(await pass(rsa)).toBe(200);
  });
});

test('a new key is found without a restart; a key that was taken out is refused', async () => {
  const keys = new KeyServer(rsa);
  const { world, pass } = await worldWith(keys);
  expect(await pass(rsa)).toBe(200);
  keys.behave = () => keys.publish(next);
  await world.clock.pass(1_000);
  expect([await pass(next), await pass(rsa)]).toEqual([200, 401]);
});

const again = await signerOf('rsa');
const withoutId = ({ jwk: { kid: _, ...jwk }, ...signer }: Signer): Signer => {
  return { ...signer, jwk, kid: undefined };
};

test.each([
  ['under the id of the one before', rsa, again],
  ['without an id', withoutId(rsa), withoutId(again)],
])('a new key %s is found without a restart, by many at once with one fetch', async (
  _,
  ...[old, fresh]
) => {
  const keys = new KeyServer(old);
  const { world, pass } = await worldWith(keys);
  expect(await pass(old)).toBe(200);
  keys.behave = () => keys.publish(fresh);
  await world.clock.pass(1_000);
  expect(await Promise.all([pass(fresh), pass(fresh), pass(fresh)])).toEqual([200, 200, 200]);
  expect([await pass(old), keys.urls.length]).toEqual([401, 2]);
});

test('wrong signatures fetch seldom, and ever more seldom', async () => {
  const keys = new KeyServer(rsa);
  const { world, pass } = await worldWith(keys);
  await pass(rsa);
  for (let second = 0; second < 120; second++) {
    expect(await pass(again)).toBe(401);
    await world.clock.pass(1_000);
  }
  expect(await pass(rsa)).toBe(200);
  expect(keys.urls.length).toBeLessThan(10);
  expect(keys.urls.length).toBeGreaterThan(4);
});

test('a token that passed before fails once its key is taken out', async () => {
  const keys = new KeyServer(rsa);
  const { world } = await worldWith(keys);
  const headers = { authorization: `Bearer ${await tokenOf(rsa, LONG)}` };
  expect(await world.status({ headers })).toBe(200);
  keys.behave = () => keys.publish(next);
  await world.clock.pass(600_001);
  expect(await world.status({ headers })).toBe(200);
  await turn();
  expect(await world.status({ headers })).toBe(401);
});

test('unknown key ids fetch seldom, and ever more seldom', async () => {
  const keys = new KeyServer(rsa);
  const { world, pass } = await worldWith(keys);
  await pass(rsa);
  for (let second = 0; second < 120; second++) {
    await pass({ ...next, kid: `k${second}` });
    await world.clock.pass(1_000);
  }
  expect(keys.urls.length).toBeLessThan(10);
  expect(keys.urls.length).toBeGreaterThan(4);
});

test('many callers at once wait for one fetch', async () => {
  const keys = new KeyServer(rsa);
  const { pass } = await worldWith(keys);
  expect(await Promise.all(Array.from({ length: 20 }, () => pass(rsa)))).toEqual(
    Array(20).fill(200),
  );
  expect(keys.urls).toHaveLength(1);
});

test('a change of the pool does not forget the keys', async () => {
  const keys = new KeyServer(rsa);
  const { world, pass } = await worldWith(keys);
  await pass(rsa);
  await world.admin('PATCH', '/pools/p', { concurrency: { limit: 7 } });
  keys.behave = () => Promise.reject(new Error('down'));
  expect(await pass(rsa)).toBe(200);
});
