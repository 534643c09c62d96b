import { describe, expect, test } from 'vitest';
import { World } from './support.ts';
import type { Signer, TokenParts } from './tokens.ts';
import { KeyServer, NOW_S, rawToken, signerOf, tokenOf } from './tokens.ts';

const URL_OF_KEYS = 'https://issuer.test/keys';
const rsa = await signerOf('rsa');
const other = await signerOf('other');
const JWT = { jwksUrl: URL_OF_KEYS, issuer: 'https://issuer.test', audience: 'app' };
const HS_SECRET = 'an HS256 secret of the tests 0123456789';
const hs: Signer = {
  alg: 'HS256',
  kid: 'hs',
  privateKey: new TextEncoder().encode(HS_SECRET),
  jwk: { kty: 'oct' },
};

async function worldWith(jwt: object, keys = new KeyServer(rsa)) {
  const world = await World.open({ fetch: keys.fetch });
  const answer = await world.makePool({ key: { required: false }, jwt });
  expect(answer.status).toBe(201);
  const bearer = (token: string) => world.status({ headers: { authorization: `Bearer ${token}` } });
  return { world, keys, bearer };
}

describe('a token', () => {
  test('passes by its signature, and is not fetched for twice', async () => {
    const { bearer, keys } = await worldWith(JWT);
    const token = await tokenOf(rsa);
    expect([await bearer(token), await bearer(token), await bearer(await tokenOf(rsa))]).toEqual(
      [200, 200, 200],
    );
    expect(keys.urls).toEqual([URL_OF_KEYS]);
  });

  test.each<[string, TokenParts]>([
    ['of another issuer', { claims: { iss: 'https://other.test' } }],
    ['without issuer', { claims: { iss: undefined } }],
    ['of another audience', { claims: { aud: 'another' } }],
    ['without audience', { claims: { aud: undefined } }],
    ['with an empty audience', { claims: { aud: [] } }],
    ['without exp', { claims: { exp: undefined } }],
    ['with an exp that is no number', { claims: { exp: String(NOW_S + 300) } }],
    ['that wants an extension nobody knows', { header: { crit: ['x'], x: 1 } }],
  ])('%s fails', async (_, parts) => {
    const { bearer, world } = await worldWith(JWT);
    expect(await bearer(await tokenOf(rsa, parts).catch(() => craft(parts)))).toBe(401);
    expect(await world.reason()).toMatch(/^jwt: (claim (iss|aud|exp)|malformed)/);
  });

  /** jose will not sign what it would not read; the signature does not matter then. */
  function craft({ claims = {}, header = {} }: TokenParts): string {
    const payload = { iss: 'https://issuer.test', aud: 'app', exp: NOW_S + 300, ...claims };
    return rawToken({ alg: 'RS256', kid: 'rsa', ...header }, payload, 'AAAA');
  }

  test('for several audiences passes where ours is among them', async () => {
    const { bearer } = await worldWith({ ...JWT, audience: ['app', 'app2'] });
    for (const aud of ['app', 'app2', ['x', 'app'], ['app2']]) {
      expect(await bearer(await tokenOf(rsa, { claims: { aud } }))).toBe(200);
    }
    expect(await bearer(await tokenOf(rsa, { claims: { aud: ['x', 'y'] } }))).toBe(401);
  });

  test.each([
    ['nbf', 1, 200],
    ['nbf', 5, 200],
    ['nbf', 29, 200],
    ['nbf', 120, 401],
    ['exp', -1, 200],
    ['exp', -5, 200],
    ['exp', -29, 200],
    ['exp', -30, 401],
    ['exp', -120, 401],
    ['iat', 120, 200],
  ])('%s at %i s from now is %i: clocks may differ by 30 s', async (claim, seconds, status) => {
    const { bearer } = await worldWith(JWT);
    const token = await tokenOf(rsa, { claims: { [claim]: NOW_S + seconds } });
    expect([await bearer(token), await bearer(token)]).toEqual([status, status]);
  });

  test('that passed before fails when its time is over', async () => {
    const { bearer, world } = await worldWith({ ...JWT, clockToleranceS: 0 });
    const token = await tokenOf(rsa, { claims: { exp: NOW_S + 10 } });
    expect(await bearer(token)).toBe(200);
    await world.clock.pass(9_999);
    expect(await bearer(token)).toBe(200);
    await world.clock.pass(1);
    expect(await bearer(token)).toBe(401);
    expect(await world.reason()).toBe('jwt: expired');
  });

  test.each(['', 'a', 'a.b', 'a.b.c', 'a.b.c.d', '..', `${'a'.repeat(9000)}.b.c`, 'ü.b.c'])(
    '%j is malformed',
    async (token) => {
      const { bearer } = await worldWith(JWT);
      expect(await bearer(encodeURI(token))).toBe(401);
    },
  );

  test('is wanted: another scheme, no scheme or no header fail', async () => {
    const { world } = await worldWith(JWT);
    const token = await tokenOf(rsa);
    const lines = [
      `Basic ${token}`,
      token,
      `Bearer ${token} x`,
      `Bearer ${token}, Bearer ${token}`,
    ];
    for (const authorization of lines) {
      expect(await world.status({ headers: { authorization } })).toBe(401);
    }
    expect(await world.status({ path: `acquire?access_token=${token}` })).toBe(401);
    expect(await world.status({ headers: { authorization: `bearer  ${token}` } })).toBe(200);
  });

  test("may stand in a header of the pool's choice, and then only there", async () => {
    const { world, bearer } = await worldWith({ ...JWT, header: 'X-Id-Token' });
    const token = await tokenOf(rsa);
    expect(await bearer(token)).toBe(401);
    expect(await world.status({ headers: { 'x-id-token': token } })).toBe(200);
    expect(await world.status({ headers: { 'x-id-token': `Bearer ${token}` } })).toBe(200);
    const twice: [string, string][] = [['x-id-token', token], ['x-id-token', token]];
    expect(await world.status({ headers: twice })).toBe(401);
  });

  test('must have the claims that the pool wants', async () => {
    const named = await worldWith({ ...JWT, requiredClaims: ['tenant'] });
    expect(await named.bearer(await tokenOf(rsa))).toBe(401);
    expect(await named.bearer(await tokenOf(rsa, { claims: { tenant: 'x' } }))).toBe(200);
    const valued = await worldWith({ ...JWT, requiredClaims: { tenant: 'a', role: ['x', 'y'] } });
    const of = async (claims: object) =>
      await valued.bearer(await tokenOf(rsa, { claims: { ...claims } }));
    expect(await of({ tenant: 'a', role: 'y' })).toBe(200);
    expect(await of({ tenant: 'a', role: ['q', 'x'] })).toBe(200);
    expect(await of({ tenant: 'b', role: 'y' })).toBe(401);
    expect(await of({ tenant: 'a', role: 'z' })).toBe(401);
    expect(await of({ tenant: 'a' })).toBe(401);
  });
});

describe('the algorithm', () => {
  test("is the settings', never the token's: no forged one passes a key without alg", async () => {
    const { world, bearer, keys } = await worldWith(JWT);
    expect(rsa.jwk.alg).toBeUndefined();
    const claims = { iss: 'https://issuer.test', aud: 'app', exp: NOW_S + 300 };
    const asSecret: Signer = {
      ...rsa,
      alg: 'HS256',
      privateKey: new TextEncoder().encode(JSON.stringify(rsa.jwk)),
    };
    const modulus: Signer = { ...asSecret, privateKey: Buffer.from(rsa.jwk.n ?? '', 'base64url') };
    const hidden = { jku: 'https://evil.test/jku', x5u: 'https://evil.test/x5u', jwk: other.jwk };
    const forged = [
      await tokenOf(asSecret),
      await tokenOf(modulus),
      rawToken({ alg: 'none', kid: 'rsa' }, claims),
      rawToken({ alg: 'none', kid: 'rsa' }, claims, 'AAAA'),
      rawToken({ alg: 'None', kid: 'rsa' }, claims, 'AAAA'),
      rawToken({ alg: 'nOnE', kid: 'rsa' }, claims, 'AAAA'),
      rawToken({ kid: 'rsa' }, claims, 'AAAA'),
      rawToken({ alg: 'ES256', kid: 'rsa' }, claims, 'AAAA'),
      rawToken({ alg: 'RS256', kid: 'rsa' }, claims, 'AAAA'),
      await tokenOf({ ...other, kid: 'rsa' }, { header: hidden }),
      await tokenOf({ ...other, kid: 'rsa' }),
    ];
    for (const token of forged) expect(await bearer(token), token).toBe(401);
    expect(await bearer(await tokenOf(rsa, { header: hidden }))).toBe(200);
    expect(new Set(keys.urls)).toEqual(new Set([URL_OF_KEYS]));
    expect(String(await world.reason())).not.toContain('evil');
  });

  test('must be listed: PS256 by the same key passes only then', async () => {
    const pss = await signerOf('pss', 'PS256');
    const token = await tokenOf(pss);
    const strict = await worldWith(JWT, new KeyServer(pss));
    expect(await strict.bearer(token)).toBe(401);
    const wide = await worldWith({ ...JWT, algorithms: ['RS256', 'PS256'] }, new KeyServer(pss));
    expect(await wide.bearer(token)).toBe(200);
  });

  test('of a shared secret goes with a secret alone', async () => {
    const { bearer, world } = await worldWith({ ...JWT, jwksUrl: null, secret: HS_SECRET });
    expect(await bearer(await tokenOf(hs))).toBe(200);
    expect(await bearer(await tokenOf({ ...hs, alg: 'HS512' }))).toBe(401);
    expect(await bearer(await tokenOf(rsa))).toBe(401);
    const shown = await (await world.admin('GET', '/pools/p')).text();
    expect(shown).toContain('"secretSet":true');
    expect(shown).not.toContain(HS_SECRET);
  });
});

test.each<[string, object]>([
  ['no source of keys', {}],
  ['two sources', { jwksUrl: URL_OF_KEYS, secret: HS_SECRET }],
  ['HS with a key set', { jwksUrl: URL_OF_KEYS, algorithms: ['HS256'] }],
  ['RS with a secret', { secret: HS_SECRET, algorithms: ['RS256'] }],
  ['both kinds', { secret: HS_SECRET, algorithms: ['HS256', 'RS256'] }],
  ['none', { jwksUrl: URL_OF_KEYS, algorithms: ['none'] }],
  ['no algorithm', { jwksUrl: URL_OF_KEYS, algorithms: [] }],
  ['a short secret', { secret: 'short' }],
  ['a file as URL', { jwksUrl: 'file:///etc/passwd' }],
  ['a user in the URL', { jwksUrl: 'https://a:b@issuer.test/' }],
  ['a private key', { jwks: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB', d: 'y' }] } }],
  ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }],
])('settings with %s are refused', async (_, jwt) => {
  const world = await World.open();
  expect((await world.makePool({ jwt })).status).toBe(400);
});

describe('a key set', () => {
  test('as large providers publish it: no alg, unknown kinds, keys for encryption', async () => {
    const keys = new KeyServer();
    const extras = { use: 'sig', x5c: ['AAAA'], x5t: 'AA' };
    keys.behave = () =>
      Response.json({
        keys: [
          null,
          'text',
          { kty: 'QUANTUM', kid: 'q' },
          { kty: 'oct', kid: 'rsa', k: Buffer.from(HS_SECRET).toString('base64url') },
          { ...other.jwk, kid: 'rsa', use: 'enc' },
          { ...rsa.jwk, ...extras },
        ],
      });
    const { bearer } = await worldWith(JWT, keys);
    expect(await bearer(await tokenOf(rsa))).toBe(200);
    expect(await bearer(await tokenOf({ ...other, kid: 'rsa' }))).toBe(401);
  });

  test('without kid, or with one that is there twice: one of the keys must fit', async () => {
    const twin = { ...other, kid: 'rsa', jwk: { ...other.jwk, kid: 'rsa' } };
    const { bearer } = await worldWith(JWT, new KeyServer(twin, rsa));
    expect(await bearer(await tokenOf(rsa))).toBe(200);
    expect(await bearer(await tokenOf(twin))).toBe(200);
    expect(await bearer(await tokenOf(rsa, { header: { kid: undefined } }))).toBe(200);
    const third = await signerOf('rsa');
    expect(await bearer(await tokenOf(third))).toBe(401);
    expect(await bearer(await tokenOf(third, { header: { kid: undefined } }))).toBe(401);
  });

  test('may stand in the settings, and is replaced by PATCH at once', async () => {
    const jwks = { keys: [rsa.jwk] };
    const { bearer, world, keys } = await worldWith({ ...JWT, jwksUrl: null, jwks });
    const token = await tokenOf(rsa);
    expect(await bearer(token)).toBe(200);
    await world.admin('PATCH', '/pools/p', { access: { jwt: { jwks: { keys: [other.jwk] } } } });
    expect([await bearer(token), await bearer(await tokenOf(other))]).toEqual([401, 200]);
    expect(keys.urls).toEqual([]);
  });
});

test('the same token in another pool is judged by that pool', async () => {
  const { world, bearer } = await worldWith(JWT);
  await world.makePool({ key: { required: false }, jwt: { ...JWT, audience: 'q' } }, 'q');
  const token = await tokenOf(rsa);
  expect(await bearer(token)).toBe(200);
  const headers = { authorization: `Bearer ${token}` };
  expect(await world.status({ pool: 'q', headers })).toBe(401);
});
