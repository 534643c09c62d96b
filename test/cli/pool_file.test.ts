/**
 * The configuration file of pools: what is read, what is refused with one sentence that says where,
 * and what applying it does to the pools that there are.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hashOf } from '../../src/access/keys.ts';
import { applyPoolFile, PoolFileError, readPoolFile } from '../../src/cli/pool_file.ts';
import { log } from '../../src/log.ts';
import { PoolSpec } from '../../src/wire.ts';
import { Caller, Door, fixed, soon } from '../http/door.ts';

const HASH = hashOf('nb_live_one');
const NOW_MS = 1_767_225_600_000;
let text = '';
const environment = new Map<string, string>();

beforeEach(() => {
  environment.clear();
  vi.stubGlobal('Deno', {
    readTextFile: (path: string) =>
      path === 'pools.json' ? Promise.resolve(text) : Promise.reject(new Error('No such file')),
    env: { get: (name: string) => environment.get(name) },
  });
});
afterEach(() => void vi.unstubAllGlobals());

async function read(content: unknown) {
  text = typeof content === 'string' ? content : JSON.stringify(content);
  return await readPoolFile('pools.json', 'localhost');
}

/** The one sentence with which a file is refused. */
async function refusal(content: unknown): Promise<string> {
  const error = await read(content).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PoolFileError);
  const { message } = error as PoolFileError;
  expect(message).not.toContain('\n');
  return message;
}

describe('readPoolFile', () => {
  it('reads pools with every default, and keys by hash or variable', async () => {
    environment.set('WORKER_KEY', 'nb_live_two');
    const pools = await read({
      pools: [
        { name: 'a', concurrency: { limit: 3 } },
        {
          name: 'b',
          keys: [
            { name: 'one', hash: HASH },
            { name: 'same', hash: `sha256:${hashOf('nb_live_three')}` },
            { name: 'two', env: 'WORKER_KEY' },
          ],
        },
      ],
    });
    expect(pools).toEqual([
      { spec: PoolSpec.parse({ name: 'a', concurrency: { limit: 3 } }), keys: [] },
      {
        spec: PoolSpec.parse({ name: 'b' }),
        keys: [
          { name: 'one', hash: HASH, isShort: false },
          { name: 'same', hash: hashOf('nb_live_three'), isShort: false },
          { name: 'two', hash: hashOf('nb_live_two'), isShort: true },
        ],
      },
    ]);
    expect(await read({ pools: [] })).toEqual([]);
  });

  it('takes null as no bound of a forwarded request', async () => {
    const upstream = { url: 'http://127.0.0.1:1', requestTimeoutMs: null };
    expect(await read({ pools: [{ name: 'a', upstream }] })).toMatchObject([{
      spec: { upstream },
    }]);
  });

  it.each([
    ['no JSON', '{"pools": [', 'pools.json'],
    ['nothing', '', 'pools.json'],
    ['a list', [], 'pools.json: must be a JSON object; a list came'],
    ['null', null, 'pools.json: must be a JSON object; null came'],
    ['no pools', {}, 'pools'],
    ['pools that are no list', { pools: {} }, 'pools'],
    ['an unknown field beside the pools', { pools: [], pool: [] }, 'json: pool: is no known'],
    ['a pool that is no object', { pools: ['a'] }, 'pools.0'],
    ['a pool without a name', { pools: [{ name: 'a' }, {}] }, 'pools.1: name'],
    ['a bad name', { pools: [{ name: 'A' }] }, 'pools.0: name'],
    ['an unknown field', { pools: [{ name: 'a', limit: 3 }] }, 'pools.0: limit: is no known field'],
    ['a __proto__', '{"pools": [{"name": "a", "__proto__": {}}]}', 'pools.0.__proto__: is no'],
    ['a bad limit', { pools: [{ name: 'a', concurrency: { limit: 0 } }] }, 'concurrency.limit'],
    ['a pool twice', { pools: [{ name: 'a' }, { name: 'a' }] }, 'pool a is named twice'],
    [
      "a host of the server's own",
      { pools: [{ name: 'a', upstream: { url: 'http://h', hosts: ['localhost'] } }] },
      'pools.json: localhost is a host of this server',
    ],
    ['a key without a name', { pools: [{ name: 'a', keys: [{ hash: HASH }] }] }, 'keys.0.name'],
    ['a key without either', { pools: [{ name: 'a', keys: [{ name: 'k' }] }] }, 'hash and env'],
    [
      'a key with both',
      { pools: [{ name: 'a', keys: [{ name: 'k', hash: HASH, env: 'X' }] }] },
      'hash and env',
    ],
    ['a bad hash', { pools: [{ name: 'a', keys: [{ name: 'k', hash: 'x' }] }] }, 'SHA-256'],
    [
      'a hash in capitals',
      { pools: [{ name: 'a', keys: [{ name: 'k', hash: HASH.toUpperCase() }] }] },
      'SHA-256',
    ],
    [
      'a key in the clear',
      { pools: [{ name: 'a', keys: [{ name: 'k', key: 'nb_live_one' }] }] },
      'keys.0',
    ],
    [
      'a variable that is not set',
      { pools: [{ name: 'a', keys: [{ name: 'k', env: 'NOT_SET' }] }] },
      'NOT_SET',
    ],
    [
      'a key twice in one pool',
      { pools: [{ name: 'a', keys: [{ name: 'k', hash: HASH }, { name: 'l', hash: HASH }] }] },
      'twice',
    ],
    [
      'more keys than a pool may have',
      {
        pools: [{
          name: 'a',
          keys: Array.from({ length: 1001 }, (_, i) => ({ name: 'k', hash: hashOf(`${i}`) })),
        }],
      },
      'keys',
    ],
  ])('refuses %s, and says where', async (_, content, where) => {
    expect(await refusal(content)).toContain(where);
  });

  it('says of what is no JSON why, and quotes nothing of it', async () => {
    const line = await refusal('{"pools": [{"name": "a", "keys": [{"env": hunter2hunter2}]}]}');
    expect(line).toMatch(/^pools\.json: Unexpected token .* is not valid JSON$/);
    expect(line).not.toContain('hunter2');
  });

  it('gives others a turn while a long file is read', async () => {
    let hasTurned = false;
    setTimeout(() => hasTurned = true, 0);
    const pools = Array.from({ length: 300 }, (_, at) => ({ name: `p${at}` }));
    expect(await read({ pools })).toHaveLength(300);
    expect(hasTurned).toBe(true);
  });

  it('refuses a file that cannot be read', async () => {
    await expect(readPoolFile('missing.json', 'localhost')).rejects.toThrow(
      'missing.json: No such file',
    );
  });
});

describe('applyPoolFile', () => {
  let door: Door;
  let mine: Caller;
  const apply = async (content: unknown) => {
    const pools = await read(content);
    await door.settled(applyPoolFile(door.server.directory, pools, NOW_MS));
  };
  const key = (name: string, secret: string) => ({ name, hash: hashOf(secret) });
  const status = async (pool: string, secret: string) => {
    const headers = { 'x-nthpool-key': secret };
    return (await door.call('POST', `/pools/${pool}/lock/acquire`, { headers })).status;
  };

  beforeEach(async () => {
    door = await Door.open();
    mine = await door.pool('mine', fixed(2));
  });

  it('makes the pools that it names, and leaves the others alone', async () => {
    await apply({ pools: [{ name: 'a', keys: [key('k', 'nb_live_one')] }] });
    expect(await status('a', 'nb_live_one')).toBe(200);
    expect(await status('a', 'nb_live_two')).toBe(401);
    expect(door.server.directory.get('a')?.isManaged).toBe(true);
    expect(door.server.directory.get('mine')?.isManaged).toBe(false);
    expect((await mine.acquire()).status).toBe(200);
  });

  it('changes a pool without ending its leases', async () => {
    await apply({ pools: [{ name: 'a', ...fixed(1), keys: [key('k', 'nb_live_one')] }] });
    await status('a', 'nb_live_one');
    expect(await status('a', 'nb_live_one')).toBe(429);
    await apply({ pools: [{ name: 'a', ...fixed(2), keys: [key('k', 'nb_live_one')] }] });
    expect(door.server.scheduler.pools.get('a')?.inUse).toBe(1);
    expect(await status('a', 'nb_live_one')).toBe(200);
  });

  it('revokes keys that are taken out, and keeps what is known of the others', async () => {
    const file = (...keys: object[]) => ({ pools: [{ name: 'a', keys }] });
    await apply(file(key('k', 'nb_live_one'), key('l', 'nb_live_two')));
    const before = door.server.directory.get('a')?.keys.rows().at(-1);
    await apply(file(key('l', 'nb_live_two'), key('m', 'nb_live_three')));
    expect(await status('a', 'nb_live_one')).toBe(401);
    expect(await status('a', 'nb_live_two')).toBe(200);
    expect(await status('a', 'nb_live_three')).toBe(200);
    expect(door.server.directory.get('a')?.keys.rows()[0]?.id).toBe(before?.id);
  });

  describe('hosts of upstreams', () => {
    const on = (name: string, ...hosts: string[]) => ({
      name,
      upstream: { url: 'http://127.0.0.1:1', hosts },
    });

    it('of another pool are refused before anything is changed', async () => {
      await apply({ pools: [on('gone', 'one.test')] });
      await expect(apply({ pools: [{ name: 'new' }, on('b', 'two.test', 'One.test')] })).rejects
        .toThrow('one.test is a host of pool gone, and cannot be one of pool b too');
      expect(door.server.directory.get('new')).toBeUndefined();
      expect(door.server.directory.get('gone')?.isManaged).toBe(true);
    });

    it('are passed on from one pool of the file to another', async () => {
      await apply({ pools: [on('a', 'one.test'), on('b', 'two.test')] });
      await apply({ pools: [on('a', 'two.test'), on('b', 'one.test')] });
      expect(Object.fromEntries(door.server.directory.hosts)).toEqual({
        'one.test': 'b',
        'two.test': 'a',
      });
    });
  });

  it('warns of a key that may be guessed, by its name', async () => {
    const warn = vi.spyOn(log, 'warn').mockImplementation(() => {});
    environment.set('LONG', `nb_live_${'x'.repeat(24)}`);
    environment.set('SHORT', 'mykey');
    const keys = ['LONG', 'SHORT'].map((env) => ({ name: env, env }));
    await apply({ pools: [{ name: 'a', keys: [...keys, key('hashed', 'k')] }] });
    const calls: readonly (readonly unknown[])[] = warn.mock.calls;
    expect(calls.map(([, told]) => told)).toMatchObject([{ key: 'SHORT', pool: 'a' }]);
    warn.mockRestore();
  });

  it('keeps a pool that is taken out, owned by nobody', async () => {
    await apply({ pools: [{ name: 'a' }] });
    await apply({ pools: [] });
    expect(door.server.directory.get('a')?.isManaged).toBe(false);
    expect((await door.admin('PATCH', '/pools/a', fixed(3))).status).toBe(200);
  });

  it('takes a pool over that was made by API, and its keys', async () => {
    await apply({ pools: [{ name: 'mine', ...fixed(9), keys: [key('k', 'nb_live_one')] }] });
    expect((await mine.acquire()).status).toBe(401);
    expect(await status('mine', 'nb_live_one')).toBe(200);
    expect((await door.admin('DELETE', '/pools/mine')).status).toBe(409);
    await soon(door);
  });

  describe('and hosts', () => {
    const at = (name: string, ...hosts: string[]) => ({
      name,
      upstream: { url: `https://${name}.example`, hosts },
    });
    const hosts = () => Object.fromEntries(door.server.directory.hosts);

    it.each([
      ['a pool of another hand', [at('p1'), at('p2', 'taken.example')]],
      ['another pool of the file', [at('p1', 'twice.example'), at('p2', 'Twice.example')]],
      ['a pool that the file names no more', [at('p1'), at('p2', 'old.example')]],
    ])('refuses a host of %s, with all left as it was', async (_, pools) => {
      await door.admin('POST', '/pools', at('theirs', 'taken.example'));
      await apply({ pools: [at('old', 'old.example')] });
      const before = door.server.directory.list();
      await expect(apply({ pools })).rejects.toThrow(PoolFileError);
      await expect(apply({ pools })).rejects.toThrow(/\b\w+\.example is a host of pool \w+/);
      expect(door.server.directory.list()).toEqual(before);
      expect(hosts()).toEqual({ 'taken.example': 'theirs', 'old.example': 'old' });
    });

    it('lets hosts change hands within the file', async () => {
      await apply({ pools: [at('p1', 'x.example'), at('p2', 'y.example')] });
      await apply({ pools: [at('p1', 'y.example'), at('p2', 'x.example')] });
      expect(hosts()).toEqual({ 'y.example': 'p1', 'x.example': 'p2' });
      await apply({ pools: [at('p1'), at('p2', 'x.example', 'y.example')] });
      expect(hosts()).toEqual({ 'y.example': 'p2', 'x.example': 'p2' });
    });
  });
});
