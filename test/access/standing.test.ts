/** What becomes of callers that passed, and wait or still send, when the pool is changed. */
import { expect, test } from 'vitest';
import { respond } from '../support/http.ts';
import { T0 } from '../support/pools.ts';
import { peerOf } from '../support/server.ts';
import { SECRET, turn, turns, World } from './support.ts';
import { KeyServer, signerOf, tokenOf } from './tokens.ts';

const OPEN = { key: { required: false } };

async function full(access: object): Promise<World> {
  const world = await World.open();
  await world.makePool(access);
  const concurrency = { limit: 1 };
  expect((await world.admin('PATCH', '/pools/p', { concurrency })).status).toBe(200);
  return world;
}

/** Holds the one slot, then waits from two addresses; how each wait ends. */
async function waiting(world: World, headers: () => HeadersInit = () => ({})) {
  const held = await world.ask({ headers: headers() });
  const { slotId } = await held.json();
  const wait = (from: string) => {
    const ask = { from, headers: { ...headers(), 'x-nthpool-queue-timeout-ms': '20000' } };
    const ended: { status: number | null } = { status: null };
    void world.ask(ask).then(({ status }) => ended.status = status);
    return ended;
  };
  const first = wait('10.0.0.1');
  await turn();
  const second = wait('10.0.0.2');
  await turn();
  const release = () => world.ask({ path: `${slotId}/release`, headers: headers() });
  return { first, second, release };
}

/** Lets grants be written, and their answers go out. */
async function settled({ clock }: World): Promise<void> {
  for (let i = 0; i < 5; i++) await clock.pass(0);
}

test('a change of the rules turns away who waits and would be refused, nobody else', async () => {
  const world = await full(OPEN);
  const { first, second, release } = await waiting(world);
  const change = (access: object) => world.admin('PATCH', '/pools/p', { access });
  await change({ ip: { deny: ['10.0.0.1'] } });
  await turn();
  expect([first.status, second.status]).toEqual([401, null]);
  expect(await world.reason()).toBe('address: denied');
  await release();
  await settled(world);
  expect(second.status).toBe(200);
});

test.each<[string, object, string]>([
  ['a key', { key: { required: true } }, 'key: missing'],
  ['a signature', { hmac: { secrets: [SECRET] } }, 'hmac: missing'],
  ['a token', { jwt: { secret: SECRET } }, 'jwt: missing'],
  [
    "Cloudflare's token",
    { cloudflareAccess: { teamDomain: 'a', audience: 'b' } },
    'cloudflare access: missing',
  ],
  ['an address of the list', { ip: { allow: ['10.9.0.0/16'] } }, 'address: not allowed'],
])(
  'a pool that wants %s from now on turns away all who wait without, and logs why',
  async (_, access, reason) => {
    const world = await full(OPEN);
    const { first, second } = await waiting(world);
    await world.admin('PATCH', '/pools/p', { access, concurrency: { limit: 5 } });
    await turn();
    expect([first.status, second.status]).toEqual([401, 401]);
    expect(world.remaining()).toBe(4);
    expect(await world.reason()).toBe(reason);
  },
);

test('a key that is revoked turns away who waits with it, and the log says so', async () => {
  const world = await full({});
  const headers = { 'x-nthpool-key': await world.makeKey() };
  const { first, second } = await waiting(world, () => headers);
  const { keys } = await (await world.admin('GET', '/pools/p/keys')).json();
  await world.admin('DELETE', `/pools/p/keys/${keys[0].id}`);
  await turn();
  expect([first.status, second.status]).toEqual([401, 401]);
  expect(await world.reason()).toBe('key: revoked or expired');
});

test('a new secret, tolerance or limit lets who waits go on waiting', async () => {
  const world = await full({ ...OPEN, hmac: { secrets: [SECRET] } });
  const { first, second } = await waiting(world, () => world.signed());
  const other = `${SECRET} of tomorrow`;
  await world.admin('PATCH', '/pools/p', { access: { hmac: { secrets: [SECRET, other] } } });
  await world.admin('PATCH', '/pools/p', { access: { hmac: { toleranceMs: 5000 } } });
  await turn();
  expect([first.status, second.status]).toEqual([null, null]);
  await world.admin('PATCH', '/pools/p', { concurrency: { limit: 3 } });
  await settled(world);
  expect([first.status, second.status]).toEqual([200, 200]);
});

test('a secret that is taken out turns away who waits on it, and nobody else', async () => {
  const other = `${SECRET} of tomorrow`;
  const world = await full({ ...OPEN, hmac: { secrets: [SECRET, other] } });
  const secrets = [other, SECRET, other];
  const { first, second, release } = await waiting(world, () => {
    return world.signed({ secret: secrets.shift() ?? other });
  });
  const change = (hmac: object | null) => world.admin('PATCH', '/pools/p', { access: { hmac } });
  await change({ secrets: [other] });
  await turn();
  expect([first.status, second.status]).toEqual([401, null]);
  expect(await world.reason()).toBe('hmac: secret taken out');
  // Where nobody need sign any more, no secret is wrong.
  await change(null);
  await release();
  await settled(world);
  expect(second.status).toBe(200);
});

test('nobody is granted a slot on a key that expired while he waited', async () => {
  const world = await full({});
  const headers = { 'x-nthpool-key': await world.makeKey('p', T0 + 5000) };
  const { first, second, release } = await waiting(world, () => headers);
  await world.clock.pass(4999);
  expect([first.status, second.status]).toEqual([null, null]);
  await world.clock.pass(1);
  expect([first.status, second.status]).toEqual([401, 401]);
  expect((await release()).status).toBe(401);
});

/** A body whose second half comes when it is asked to. */
function slowBody() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode('{"slots"'));
  const end = () => {
    void writer.write(new TextEncoder().encode(':1}'));
    void writer.close();
  };
  return { readable, end };
}

test.each<[string, (world: World) => Promise<unknown>]>([
  ['was revoked', async (world) => {
    const { keys } = await (await world.admin('GET', '/pools/p/keys')).json();
    await world.admin('DELETE', `/pools/p/keys/${keys[0].id}`);
  }],
  ['expired', (world) => world.clock.pass(5000)],
])('a key that %s while the body was read opens nothing', async (_, change) => {
  const world = await full({});
  const headers = { 'x-nthpool-key': await world.makeKey('p', T0 + 5000) };
  const { readable, end } = slowBody();
  const target = '/pools/p/lock/acquire';
  const ask = { method: 'POST', host: 'localhost:8787', target, headers, body: readable };
  const answer = respond(world.app, ask, peerOf());
  await turn();
  await change(world);
  end();
  expect((await answer).status).toBe(401);
  expect(world.remaining()).toBe(1);
});

test.each<[string, object]>([
  ['an address that was denied', { ip: { deny: ['10.0.0.1'] } }],
  ['a secret that was taken out', { hmac: { secrets: [`${SECRET} of tomorrow`] } }],
])('%s while keys were fetched opens nothing', async (_, access) => {
  const signer = await signerOf('k1');
  const keys = new KeyServer(signer);
  let publish = () => {};
  keys.behave = () => new Promise((told) => publish = () => told(keys.publish(signer)));
  const world = await World.open({ fetch: keys.fetch });
  const secrets = [SECRET, `${SECRET} of tomorrow`];
  await world.makePool({
    ...OPEN,
    hmac: { secrets },
    jwt: { jwksUrl: 'https://issuer.test/jwks' },
  });
  const authorization = `Bearer ${await tokenOf(signer)}`;
  const answers = ['10.0.0.1', '10.0.0.2'].map((from, at) => {
    const headers = { authorization, ...world.signed({ secret: secrets[at] ?? '' }) };
    return world.status({ headers, from });
  });
  await turns();
  await world.admin('PATCH', '/pools/p', { access });
  publish();
  expect(await Promise.all(answers)).toEqual([401, 200]);
});
