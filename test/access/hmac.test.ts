import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { signedText } from '../../src/access/signed_text.ts';
import { MAKERS } from '../store/samples.ts';
import { latin1 } from '../support/latin1.ts';
import { LoopClock } from '../support/manual_clock.ts';
import { T0 } from '../support/pools.ts';
import { HMAC_ALONE, SECRET, World } from './support.ts';

test('the signed text is the eight parts by line', () => {
  const text = signedText({
    pool: 'p',
    door: 'lock',
    timestamp: '1',
    nonce: 'n',
    method: 'POST',
    target: '/pools/p/lock/acquire?a=%2F',
    bodyHash: 'e3b0',
  });
  expect(text).toBe('v1\np\nlock\n1\nn\nPOST\n/pools/p/lock/acquire?a=%2F\ne3b0');
});

test('a signature made by hand passes, and carries the whole request', async () => {
  const world = await World.with(HMAC_ALONE);
  const body = '{"holder":"ü"}';
  const hex = createHash('sha256').update(body).digest('hex');
  const text = `v1\np\nlock\n${T0}\nnonce-1\nPOST\n/pools/p/lock/acquire?x=%2f\n${hex}`;
  const signature = createHmac('sha256', SECRET).update(text).digest('hex');
  const headers = {
    'x-nthpool-timestamp': String(T0),
    'x-nthpool-nonce': 'nonce-1',
    'x-nthpool-signature': `v1=${signature}`,
  };
  expect(await world.status({ path: 'acquire?x=%2F', headers, body })).toBe(401);
  expect(await world.status({ path: 'acquire?x=%2f', headers, body: `${body} ` })).toBe(401);
  expect(await world.status({ path: 'acquire?x=%2f', headers, body })).toBe(200);
  expect(await world.status({ path: 'acquire?x=%2f', headers, body })).toBe(401);
});

test.each(['acquire?q=é', 'acquire?q=日本', 'acquire?q=%C3%A9'])(
  'a signature covers the bytes of %s as they are sent',
  async (path) => {
    const world = await World.with(HMAC_ALONE);
    const asSent = latin1(new TextEncoder().encode(path));
    expect(await world.status({ path: asSent, headers: world.signed({ path }) })).toBe(200);
    expect(await world.status({ path: `${asSent}é`, headers: world.signed({ path }) })).toBe(401);
  },
);

test.each([
  ['another pool', { pool: 'q' }],
  ['another door', { door: 'proxy' as const }],
  ['another method', { method: 'GET' }],
  ['another path', { path: 'acquire?' }],
  ['another body', { body: '{}' }],
  ['another secret', { secret: `${SECRET}!` }],
])('a signature over %s fails', async (_, ask) => {
  const world = await World.with(HMAC_ALONE);
  expect(await world.status({ headers: world.signed(ask) })).toBe(401);
  expect(await world.reason()).toBe('hmac: wrong signature');
});

test('two secrets are in force while one is replaced by the other', async () => {
  const newer = `newer ${SECRET}`;
  const world = await World.with({ ...HMAC_ALONE, hmac: { secrets: [SECRET, newer] } });
  expect(await world.status({ headers: world.signed() })).toBe(200);
  expect(await world.status({ headers: world.signed({ secret: newer }) })).toBe(200);
  await world.admin('PATCH', '/pools/p', { access: { hmac: { secrets: [newer] } } });
  expect(await world.status({ headers: world.signed() })).toBe(401);
  expect(await world.status({ headers: world.signed({ secret: newer }) })).toBe(200);
});

describe('the timestamp', () => {
  test.each([
    [-300_000, 200],
    [-300_001, 401],
    [300_000, 200],
    [300_001, 401],
  ])('%i ms from now is %i', async (ms, status) => {
    const world = await World.with(HMAC_ALONE);
    expect(await world.status({ headers: world.signed({ timestamp: T0 + ms }) })).toBe(status);
  });

  test.each(['', '1e12', `0${T0}`, `+${T0}`, `${T0}.0`, `-${T0}`, 'now', '9'.repeat(20)])(
    '%j is malformed',
    async (timestamp) => {
      const world = await World.with(HMAC_ALONE);
      const headers = { ...world.signed(), 'x-nthpool-timestamp': timestamp };
      expect(await world.status({ headers })).toBe(401);
    },
  );

  test('of a call that was told is no second time in a tolerance that was raised', async () => {
    const world = await World.with({
      ...HMAC_ALONE,
      hmac: { secrets: [SECRET], toleranceMs: 1000 },
    });
    const early = world.signed();
    expect(await world.status({ headers: early })).toBe(200);
    await world.admin('PATCH', '/pools/p', { access: { hmac: { toleranceMs: 60_000 } } });
    expect(await world.status({ headers: early })).toBe(401);
    expect(await world.reason()).toBe('hmac: nonce replayed');
    await world.clock.pass(2_001);
    expect(await world.status({ headers: early })).toBe(401);
    expect(await world.reason()).toBe('hmac: nonce forgotten');
    expect(await world.status({ headers: world.signed() })).toBe(200);
  });
});

describe('the nonce', () => {
  test.each(['', 'a b', 'a, a', '\u00fc', 'x'.repeat(129)])('%j is malformed', async (nonce) => {
    const world = await World.with(HMAC_ALONE);
    expect(await world.status({ headers: world.signed({ nonce }) })).toBe(401);
    expect(await world.reason()).toBe('hmac: malformed');
  });

  test('may have 1 to 128 visible characters', async () => {
    const world = await World.with(HMAC_ALONE);
    for (const nonce of ['!', '~'.repeat(128)]) {
      expect(await world.status({ headers: world.signed({ nonce }) })).toBe(200);
    }
  });

  test('is not burnt by a request that fails, whatever fails', async () => {
    const world = await World.open();
    await world.makePool({ hmac: { secrets: [SECRET] }, ip: { deny: ['10.0.0.1'] } });
    const key = await world.makeKey();
    const headers = { ...world.signed({ nonce: 'N' }), 'x-nthpool-key': key };
    const forged = { ...headers, 'x-nthpool-signature': `v1=${'0'.repeat(64)}` };
    expect(await world.status({ headers: forged })).toBe(401);
    expect(await world.status({ headers: { ...headers, 'x-nthpool-key': 'nb_wrong' } })).toBe(401);
    expect(await world.status({ headers, from: '10.0.0.1' })).toBe(403);
    expect(world.server.access.nonces.sizeOf('p')).toBe(0);
    expect(await world.status({ headers })).toBe(200);
    expect(await world.status({ headers })).toBe(401);
    expect(await world.reason()).toBe('hmac: nonce replayed');
  });

  test('is burnt whatever comes of the call', async () => {
    const world = await World.with(HMAC_ALONE);
    const headers = world.signed({ path: 'nobody/renew' });
    expect(await world.status({ path: 'nobody/renew', headers })).toBe(404);
    expect(await world.status({ path: 'nobody/renew', headers })).toBe(401);
  });

  test('of one pool is free in another', async () => {
    const world = await World.with(HMAC_ALONE);
    await world.makePool(HMAC_ALONE, 'q');
    for (const pool of ['p', 'q']) {
      const headers = world.signed({ pool, nonce: 'N' });
      expect(await world.status({ pool, headers })).toBe(200);
    }
  });

  test('outlives its pool', async () => {
    const world = await World.with(HMAC_ALONE);
    const headers = world.signed();
    expect(await world.status({ headers })).toBe(200);
    await world.admin('DELETE', '/pools/p');
    await world.makePool(HMAC_ALONE);
    expect(await world.status({ headers })).toBe(401);
  });

  test('of 100 forged requests fills no store', async () => {
    const world = await World.with(HMAC_ALONE);
    for (let i = 0; i < 100; i++) {
      const forged = world.signed({ secret: 'wrong '.repeat(9), nonce: `n${i}` });
      expect(await world.status({ headers: forged })).toBe(401);
    }
    expect(world.server.access.nonces.sizeOf('p')).toBe(0);
  });
});

describe.each(MAKERS)('after a restart on %s', (_, make) => {
  test('a nonce is still taken, before and after a fold, until its time is over', async () => {
    const start = make();
    const clock = new LoopClock();
    const first = await World.open({ store: start(), clock });
    await first.makePool(HMAC_ALONE);
    const early = first.signed();
    expect(await first.status({ headers: early })).toBe(200);
    await first.store.fold();
    const late = first.signed();
    expect(await first.status({ headers: late })).toBe(200);
    await first.store.close();

    const second = await World.open({ store: start(), clock });
    expect(await second.status({ headers: early })).toBe(401);
    expect(await second.status({ headers: late })).toBe(401);
    expect(await second.reason()).toBe('hmac: nonce replayed');
    // Beside the two stands the mark of their tolerance.
    const mark = { pool: 'p', nonce: 'tolerance 300000', until: T0 + 2_100_000 };
    await second.store.pruneNonces(T0 + 600_000);
    expect(await second.store.readNonces()).toHaveLength(3);
    await second.store.pruneNonces(T0 + 600_001);
    expect(await second.store.readNonces()).toEqual([mark]);
    await second.store.close();
  });

  test('an acquire is told only when its nonce is durable', async () => {
    const store = make()();
    const world = await World.open({ store });
    await world.makePool(HMAC_ALONE);
    const commit = store.commit.bind(store);
    const kept: string[] = [];
    store.commit = async (batch) => {
      await commit(batch);
      for (const { nonce } of batch.nonces ?? []) kept.push(nonce);
    };
    expect(await world.status({ headers: world.signed({ nonce: 'N' }) })).toBe(200);
    expect(kept).toContain('N');
    await store.close();
  });
});

test('settings: one or two secrets of 32 or more characters, tolerance 1 s to 15 min', async () => {
  const world = await World.open();
  for (
    const hmac of [
      {},
      { secrets: [] },
      { secrets: ['short'] },
      { secrets: [SECRET, SECRET, SECRET] },
      { secrets: [SECRET], toleranceMs: 999 },
      { secrets: [SECRET], toleranceMs: 900_001 },
      { secrets: [SECRET], more: 1 },
    ]
  ) expect((await world.makePool({ hmac })).status).toBe(400);
  expect((await world.makePool({ hmac: { secrets: ['x'.repeat(32)] } })).status).toBe(201);
});
