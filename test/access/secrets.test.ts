import { describe, expect, test } from 'vitest';
import { keepListedSecrets, mapSecrets, withoutSecrets } from '../../src/access/secret_fields.ts';
import { hasSecrets, Vault, VaultError } from '../../src/access/vault.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { PoolSpec } from '../../src/wire.ts';
import { MASTER_KEY } from '../support/server.ts';
import { SECRET, World } from './support.ts';

const CREDENTIAL = 'Bearer sk-credential';
const settings = {
  access: { hmac: { secrets: ['s1', 's2'], toleranceMs: 1 }, jwt: { secret: null } },
  upstream: { url: 'u', credentials: [{ name: 'a', value: CREDENTIAL }, { name: 'b' }] },
};

describe('secret fields', () => {
  test('are shown as set or not, and nothing else is touched', () => {
    expect(withoutSecrets(settings)).toEqual({
      access: { hmac: { toleranceMs: 1, secretSet: true }, jwt: { secretSet: false } },
      upstream: {
        url: 'u',
        credentials: [{ name: 'a', secretSet: true }, { name: 'b', secretSet: false }],
      },
    });
    expect(withoutSecrets({ access: { hmac: null }, upstream: null })).toEqual({
      access: { hmac: null },
      upstream: null,
    });
    expect(settings.upstream.credentials[0]?.value).toBe(CREDENTIAL);
  });

  test('are mapped one by one, each by its place', () => {
    const seen: string[] = [];
    mapSecrets(settings, (_, field) => seen.push(field));
    expect(seen).toEqual([
      'access.hmac.secrets.0',
      'access.hmac.secrets.1',
      'upstream.credentials.0.value',
    ]);
  });

  test('of a list are kept by name where a change leaves them out', () => {
    const changed = {
      upstream: { credentials: [{ name: 'c' }, { name: 'a' }, { name: 'b', value: 'n' }] },
    };
    expect(keepListedSecrets(settings, changed)).toEqual({
      upstream: {
        credentials: [{ name: 'c' }, { name: 'a', value: CREDENTIAL }, { name: 'b', value: 'n' }],
      },
    });
  });
});

describe('Vault', () => {
  const vault = new Vault(MASTER_KEY);
  const sealed = vault.seal('the secret ü', 'p', 'f');

  test('opens what it sealed, and seals the same differently each time', () => {
    expect(vault.open(sealed, 'p', 'f')).toBe('the secret ü');
    expect(vault.seal('the secret ü', 'p', 'f')).not.toBe(sealed);
    expect(Buffer.from(sealed.split(':')[2] ?? '', 'base64').toString('latin1')).not.toContain(
      'secret',
    );
  });

  test('opens nothing of another pool, field or key, and nothing that was touched', () => {
    const touched = `${sealed.slice(0, -5)}${sealed.at(-5) === 'A' ? 'B' : 'A'}${sealed.slice(-4)}`;
    for (
      const open of [
        () => vault.open(sealed, 'q', 'f'),
        () => vault.open(sealed, 'p', 'g'),
        () => new Vault(`${MASTER_KEY}!`).open(sealed, 'p', 'f'),
        () => vault.open(touched, 'p', 'f'),
        () => vault.open(sealed.slice(0, 20), 'p', 'f'),
        () => vault.open('the secret', 'p', 'f'),
        () => vault.open({}, 'p', 'f'),
      ]
    ) expect(open).toThrow(VaultError);
  });

  test('wants a master key of 32 characters', () => {
    expect(() => new Vault('x'.repeat(31))).toThrow('at least 32');
  });
});

describe("a pool's secrets", () => {
  async function stored(world: World): Promise<string> {
    const { pools } = await (world.store as MemoryStore).open();
    return pools.map((row) => row.settings).join();
  }

  test('are sealed in the store, hidden in every answer, and open after a restart', async () => {
    const world = await World.open();
    const made = await world.makePool({ key: { required: false }, hmac: { secrets: [SECRET] } });
    const answers = [
      made,
      await world.admin('GET', '/pools'),
      await world.admin('GET', '/pools/p'),
      await world.admin('PATCH', '/pools/p', { queue: { maxDepth: 1 } }),
      await world.admin('GET', '/pools/p/status'),
      await world.admin('POST', '/pools/p/pause', {}),
      await world.admin('POST', '/pools/p/resume'),
    ];
    for (const answer of answers) expect(await answer.text()).not.toContain(SECRET);
    expect(await stored(world)).not.toContain(SECRET);
    expect(hasSecrets((await (world.store as MemoryStore).open()).pools[0]?.settings ?? '')).toBe(
      true,
    );
    const again = await World.open({ store: world.store });
    expect(await again.status({ headers: again.signed() })).toBe(200);
  });

  test('stay where a change leaves them out, and what was read can be sent back', async () => {
    const world = await World.open();
    await world.makePool({ key: { required: false }, hmac: { secrets: [SECRET] } });
    await world.admin('PATCH', '/pools/p', { access: { hmac: { toleranceMs: 5000 } } });
    expect(await world.status({ headers: world.signed() })).toBe(200);
    const shown = await (await world.admin('GET', '/pools/p')).json();
    expect(shown.access.hmac).toEqual({
      toleranceMs: 5000,
      bodyBytesMax: 1048576,
      secretSet: true,
    });
    const { name: _, ...patch } = shown;
    expect((await world.admin('PATCH', '/pools/p', patch)).status).toBe(200);
    expect(await world.status({ headers: world.signed() })).toBe(200);
  });

  test('are removed by null', async () => {
    const world = await World.open();
    const jwt = { secret: SECRET };
    await world.makePool({ jwt });
    const patch = (jwt: unknown) => world.admin('PATCH', '/pools/p', { access: { jwt } });
    expect((await patch({ secret: null })).status).toBe(400);
    const moved = { secret: null, jwksUrl: 'https://issuer.test/', algorithms: null };
    expect((await (await patch(moved)).json()).access.jwt).toMatchObject({
      secretSet: false,
      algorithms: ['RS256'],
    });
    expect((await (await patch(null)).json()).access.jwt).toBeNull();
    expect(await stored(world)).not.toContain('sealed:');
  });

  test('cannot be told by an error', async () => {
    const world = await World.open();
    for (const secrets of ['short-secret', ['short-secret'], [{ value: 'short-secret' }]]) {
      const answer = await world.makePool({ hmac: { secrets } });
      expect([answer.status, (await answer.text()).includes('short-secret')]).toEqual([400, false]);
    }
  });

  test('are refused by a server that has no master key', async () => {
    const { scheduler } = (await World.open()).server;
    const directory = new Directory(new MemoryStore(), scheduler);
    const spec = PoolSpec.parse({ name: 'q', access: { hmac: { secrets: [SECRET] } } });
    await expect(directory.put(spec)).rejects.toThrow('no master key');
  });
});
