import { describe, expect, test } from 'vitest';
import { makePoolApp } from '../../src/http/app.ts';
import { respond } from '../support/http.ts';
import { peerOf } from '../support/server.ts';
import { World } from './support.ts';
import type { Ask } from './support.ts';

async function keyless(): Promise<World> {
  const world = await World.open({ baseDomain: 'bouncer.test' });
  await world.makePool({ key: { required: false } });
  return world;
}

describe('a pool without a key', () => {
  test.each<[string, Ask, number]>([
    ['a program', {}, 200],
    ['the own page', { headers: { origin: 'http://localhost:8787' } }, 200],
    ['the own page, as browsers say it', { headers: { 'sec-fetch-site': 'same-origin' } }, 200],
    ['the address bar', { headers: { 'sec-fetch-site': 'none' } }, 200],
    ['a foreign page', { headers: { origin: 'https://evil.test' } }, 403],
    ['a page of another port', { headers: { origin: 'http://localhost:8788' } }, 403],
    ['a sandboxed page', { headers: { origin: 'null' } }, 403],
    ['a page with an empty origin', { headers: { origin: '' } }, 403],
    ['a foreign page without origin', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    ['a page of a sister host', { headers: { 'sec-fetch-site': 'same-site' } }, 403],
    ['a name that was pointed here', { host: 'evil.test:8787' }, 403],
    ['the same with its own origin', {
      host: 'evil.test:8787',
      headers: { origin: 'http://evil.test:8787', 'sec-fetch-site': 'same-origin' },
    }, 403],
    ['a name that begins like this machine', { host: 'localhost.evil.test' }, 403],
    ['a name that begins like an address', { host: '127.0.0.1.evil.test' }, 403],
    ['an address of the network', { host: '192.168.0.9:8787' }, 403],
    ['the base domain', { host: 'bouncer.test' }, 200],
    ['this machine by IPv4', { host: '127.0.0.1:8787' }, 200],
    ['this machine by IPv6', { host: '[::1]:8787' }, 200],
  ])('called by %s', async (_, ask, status) => {
    const world = await keyless();
    expect(await world.status(ask)).toBe(status);
    expect(world.remaining()).toBe(status === 200 ? 99 : 100);
  });

  test('lets a caller that shows a key call from where it likes', async () => {
    const world = await keyless();
    const headers = { 'x-nthpool-key': await world.makeKey(), origin: 'https://elsewhere.test' };
    expect(await world.status({ headers, host: 'elsewhere.test' })).toBe(200);
  });

  test('says why it refuses a page, and logs it', async () => {
    const world = await keyless();
    const answer = await world.ask({ headers: { origin: 'https://evil.test' } });
    expect(await answer.json()).toEqual({
      error: 'unauthorized',
      message: 'A page of another origin may not call this pool.',
    });
    expect(await world.reason()).toBe('browser: foreign origin');
  });
});

describe("a pool's own listener without a key", () => {
  test.each<[string, string, boolean]>([
    ['this machine', 'localhost:9000', true],
    ['the pool', 'p.bouncer.test:9000', true],
    ['a host that the pool names', 'llm.acme.example:9000', true],
    ['an address', '192.168.0.9:9000', true],
    ['an IPv6 address', '[2001:db8::1]:9000', true],
    ['a container', 'gateway:9000', true],
    ['the host of a container', 'host.docker.internal:9000', true],
    ['a service of a cluster', 'gateway.default.svc.cluster.local:9000', true],
    ['a name that was pointed here', 'evil.example:9000', false],
    ['a name that begins like an address', '192.168.0.9.evil.example:9000', false],
    ['a name that holds a private ending', 'a.internal.evil.example:9000', false],
  ])('called as %s', async (_, host, passes) => {
    const world = await keyless();
    const upstream = { url: 'http://127.0.0.1:1', hosts: ['llm.acme.example'] };
    await world.admin('PATCH', '/pools/p', { upstream });
    const app = makePoolApp(world.server, 'p');
    const { status } = await respond(app, { method: 'GET', host, target: '/' }, peerOf());
    expect(status).toBe(passes ? 502 : 403);
  });
});
