import { describe, expect, test } from 'vitest';
import { World } from './support.ts';
import { KeyServer, NOW_S, signerOf, tokenOf } from './tokens.ts';

const team = await signerOf('team');
const stranger = await signerOf('team');
const ISSUER = 'https://acme.cloudflareaccess.com';
const AUD = 'a'.repeat(64);
const HEADER = 'cf-access-jwt-assertion';

async function worldWith(more: object = {}) {
  const keys = new KeyServer(team);
  const world = await World.open({ fetch: keys.fetch });
  const cloudflareAccess = { teamDomain: 'acme.cloudflareaccess.com', audience: AUD, ...more };
  const made = await world.makePool({ key: { required: false }, cloudflareAccess });
  expect(made.status).toBe(201);
  const by = async (claims: object, signer = team) => {
    const token = await tokenOf(signer, { claims: { iss: ISSUER, aud: [AUD], ...claims } });
    return await world.status({ headers: { [HEADER]: token } });
  };
  return { world, keys, by };
}

describe('the assertion', () => {
  test("of this application passes, by the team's own keys", async () => {
    const { by, keys } = await worldWith();
    expect([await by({}), await by({ aud: AUD }), await by({ aud: ['x', AUD] })]).toEqual(
      [200, 200, 200],
    );
    expect(keys.urls).toEqual([`${ISSUER}/cdn-cgi/access/certs`]);
  });

  test.each<[string, object, number]>([
    ['another application of the team', { aud: ['b'.repeat(64)] }, 401],
    ['no application', { aud: undefined }, 401],
    ['another team', { iss: 'https://evil.cloudflareaccess.com' }, 401],
    ['25 s ahead', { nbf: NOW_S + 25 }, 200],
    ['120 s ahead', { nbf: NOW_S + 120 }, 401],
    ['a time that is over', { exp: NOW_S - 31 }, 401],
    ['no end', { exp: undefined }, 401],
  ])('for %s', async (_, claims, status) => {
    const { by } = await worldWith();
    expect(await by(claims)).toBe(status);
  });

  test('of another signer fails', async () => {
    const { by } = await worldWith();
    expect(await by({}, stranger)).toBe(401);
  });

  test('the certificates may be kept elsewhere, and the team be written short', async () => {
    const certsUrl = 'http://127.0.0.1:9/certs';
    for (const teamDomain of ['acme', 'ACME.cloudflareaccess.com', `${ISSUER}/`]) {
      const { by, keys } = await worldWith({ teamDomain, certsUrl });
      expect(await by({})).toBe(200);
      expect(keys.urls).toEqual([certsUrl]);
    }
  });
});

describe('the cookie', () => {
  test('passes where no page of another origin sent it', async () => {
    const { world } = await worldWith();
    const token = await tokenOf(team, { claims: { iss: ISSUER, aud: [AUD] } });
    const status = (headers: HeadersInit) => world.status({ headers });
    const cookie = `a=b; CF_Authorization=${token}`;
    expect(await status({ cookie })).toBe(200);
    expect(await status({ cookie: 'CF_Authorization=x.y.z' })).toBe(401);
    expect(await status({ cookie: `CF_Authorization=x.y.z; ${cookie}` })).toBe(401);
    expect(await status([['cookie', cookie], ['cookie', 'CF_Authorization=x.y.z']])).toBe(401);
    expect(await status({ cookie, origin: 'https://evil.test' })).toBe(403);
    expect(await status({ cookie, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ cookie, [HEADER]: token, origin: 'https://evil.test' })).toBe(200);
    expect(await status({ cookie, [HEADER]: 'x.y.z' })).toBe(401);
  });
});

test('settings that are not right are refused', async () => {
  const world = await World.open();
  for (
    const cloudflareAccess of [
      {},
      { teamDomain: 'acme' },
      { teamDomain: 'acme/evil', audience: AUD },
      { teamDomain: 'http://acme', audience: AUD },
      { teamDomain: 'acme', audience: [] },
      { teamDomain: 'acme', audience: AUD, certsUrl: 'ftp://x' },
    ]
  ) expect((await world.makePool({ cloudflareAccess })).status).toBe(400);
});
