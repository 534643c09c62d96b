/**
 * The pools that there are: a change is durable before it is in force, one at a time, and a store
 * that refuses it leaves all as it was.
 */
import { describe, expect, it } from 'vitest';
import { keyRow } from '../../src/access/keys.ts';
import { CEILINGS } from '../../src/ceilings.ts';
import { Directory, DirectoryFullError } from '../../src/scheduler/directory.ts';
import type { Entry } from '../../src/scheduler/directory.ts';
import { HostTakenError } from '../../src/scheduler/pool_hosts.ts';
import { PoolSpec } from '../../src/wire.ts';
import { T0 } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

function table() {
  const rig = new Rig({ isBare: true });
  return { rig, store: rig.store, directory: new Directory(rig.store, rig.scheduler) };
}

const spec = (name: string, limit = 2) => PoolSpec.parse({ name, concurrency: { limit } });

function key(id: string, pool = 'a') {
  const facts = { id, pool, name: id, createdAt: T0, expiresAt: null, lastUsedAt: null };
  return keyRow(`nb_live_${id}`, facts);
}

describe('Directory.put', () => {
  it('makes a pool once it is durable, and not before', async () => {
    const { rig, store, directory } = table();
    store.hold();
    const put = directory.put(spec('a'));
    await rig.clock.settle();
    expect(directory.get('a')).toBeUndefined();
    expect(rig.scheduler.pools.size).toBe(0);
    store.letGo();
    const entry = await put;
    expect(entry).toMatchObject({ createdAt: T0, isManaged: false });
    expect(rig.scheduler.pools.get('a')).toBe(entry.pool);
    expect(JSON.parse(store.pools.get('a')?.settings ?? '')).toEqual(spec('a'));
  });

  it('gives a pool new settings in place, and keeps its keys, its age and its leases', async () => {
    const { rig, directory } = table();
    const before = await directory.put(spec('a'));
    await directory.addKeys(before, [key('k1')]);
    const lease = await rig.hold();
    rig.clock.stall(500);
    const entry = await directory.put(spec('a', 5));
    expect(entry.pool).toBe(before.pool);
    expect(entry.pool.governor.limit).toBe(5);
    expect(entry.createdAt).toBe(T0);
    expect(entry.keys.size).toBe(1);
    expect(lease.isLive).toBe(true);
  });

  it('changes nothing where the store refuses', async () => {
    const { store, directory } = table();
    await directory.put(spec('a'));
    store.trouble = 'failed';
    await expect(directory.put(spec('a', 5))).rejects.toThrow('The store is failed.');
    await expect(directory.put(spec('b'))).rejects.toThrow('The store is failed.');
    expect(directory.get('a')?.pool.governor.limit).toBe(2);
    expect(directory.list().map((entry) => entry.spec.name)).toEqual(['a']);
  });

  it('keeps the pause of a pool that it changes', async () => {
    const { store, directory } = table();
    await directory.setPause(await directory.put(spec('a')), { untilMs: Infinity, reason: 'x' });
    await directory.put(spec('a', 5));
    expect(store.pools.get('a')?.pause).toBe('{"untilMs":null,"reason":"x"}');
  });
});

describe('Directory.putAll', () => {
  const at = (name: string, ...hosts: string[]) => ({
    spec: PoolSpec.parse({ name, upstream: { url: 'https://up.example', hosts } }),
    isManaged: true,
  });

  it('makes all pools at once, or none where the store refuses one', async () => {
    const { rig, store, directory } = table();
    store.hold();
    const put = directory.putAll([at('a', 'x.example'), at('b')]);
    await rig.clock.settle();
    expect(directory.list()).toEqual([]);
    store.letGo();
    await put;
    expect(directory.list().map((entry) => entry.spec.name)).toEqual(['a', 'b']);
    store.trouble = 'failed';
    await expect(directory.putAll([at('a'), at('c')])).rejects.toThrow('The store is failed.');
    expect(directory.list().map((entry) => entry.spec.name)).toEqual(['a', 'b']);
    expect([...directory.hosts]).toEqual([['x.example', 'a']]);
  });

  it('stores no host at two pools while hosts change hands, and routes each', async () => {
    const { store, directory } = table();
    await directory.putAll([at('a', 'x.example'), at('b', 'y.example')]);
    const savePools = store.savePools.bind(store);
    store.savePools = async (rows) => {
      await savePools(rows);
      const stored = [...store.pools.values()].flatMap(({ settings }) => {
        return PoolSpec.parse(JSON.parse(settings)).upstream?.hosts ?? [];
      });
      expect(new Set(stored).size).toBe(stored.length);
      expect(Object.fromEntries(directory.hosts)).toEqual({ 'x.example': 'a', 'y.example': 'b' });
    };
    await directory.putAll([at('a', 'y.example'), at('b', 'x.example')]);
    expect(Object.fromEntries(directory.hosts)).toEqual({ 'x.example': 'b', 'y.example': 'a' });
  });

  it.each(['localhost', '127.0.0.1', '127.1.2.3', 'base.example'])(
    "takes no host of the server's own: %s",
    async (host) => {
      const rig = new Rig({ isBare: true });
      const directory = new Directory(rig.store, rig.scheduler, { baseDomain: 'Base.example' });
      await expect(directory.putAll([at('a', 'x.example', host)])).rejects.toThrow(
        `${host} is a host of this server's own page and API, and cannot be one of pool a too.`,
      );
      expect([directory.list(), rig.store.written]).toEqual([[], []]);
      await directory.putAll([at('a', `x.${host}.example`, 'deep.under.base.example')]);
      expect(directory.hosts.size).toBe(2);
    },
  );

  it('changes nothing where a host would be two pools, or there would be too many', async () => {
    const { store, directory } = table();
    await directory.put(at('mine', 'x.example').spec);
    await expect(directory.putAll([at('a'), at('b', 'x.example')])).rejects.toThrow(HostTakenError);
    const many = Array.from({ length: CEILINGS.pools }, (_, index) => at(`p${index}`));
    await expect(directory.putAll(many)).rejects.toThrow(DirectoryFullError);
    expect(store.written).toEqual(['pool mine']);
  });
});

describe('Directory.remove', () => {
  it('refuses who waits, ends the leases and deletes their rows', async () => {
    const { rig, store, directory } = table();
    const entry = await directory.put(spec('a', 1));
    const lease = await rig.hold();
    const waiter = rig.acquire({ waitMs: 500 });
    await Promise.all([directory.remove(entry), rig.clock.settle()]);
    expect(waiter.verdict).toMatchObject({ code: 'unauthorized' });
    expect(lease.isLive).toBe(false);
    expect(directory.get('a')).toBeUndefined();
    expect(store.leases.size).toBe(0);
    expect(store.written).toEqual(['pool a', 'no pool a']);
  });

  it('leaves the pool as it is where the store refuses', async () => {
    const { rig, store, directory } = table();
    const entry = await directory.put(spec('a'));
    const lease = await rig.hold();
    store.trouble = 'failed';
    await expect(directory.remove(entry)).rejects.toThrow('The store is failed.');
    expect(directory.get('a')).toBe(entry);
    expect(lease.isLive).toBe(true);
  });

  it('and put again make another pool, without keys or leases of the old one', async () => {
    const { rig, directory } = table();
    const old = await directory.put(spec('a'));
    await directory.addKeys(old, [key('k1')]);
    const lease = await rig.hold();
    await Promise.all([directory.remove(old), rig.clock.settle()]);
    const entry = await directory.put(spec('a'));
    expect(entry.pool).not.toBe(old.pool);
    expect(entry.keys.size).toBe(0);
    expect(rig.renew(lease)).toBe('gone');
    expect((await rig.hold()).fence).toBeGreaterThan(lease.fence);
  });
});

describe('Directory.setPause', () => {
  it('is durable before it is in force, with epoch ms in the row', async () => {
    const { rig, store, directory } = table();
    const entry = await directory.put(spec('a'));
    rig.clock.jumpWall(5000);
    rig.clock.followWallClock();
    store.hold();
    const pausing = directory.setPause(entry, { untilMs: T0 + 700, reason: null });
    await rig.clock.settle();
    expect(entry.pool.pause).toBeNull();
    store.letGo();
    await pausing;
    expect(entry.pool.pause).toEqual({ untilMs: T0 + 700, reason: null });
    expect(store.pools.get('a')?.pause).toBe(`{"untilMs":${T0 + 5700},"reason":null}`);
  });
});

describe('Directory.inTurn', () => {
  it('runs one change at a time, in the order asked for, and goes on after a failure', async () => {
    const { rig, store, directory } = table();
    const done: string[] = [];
    const change = (name: string) =>
      directory.inTurn(async () => {
        done.push(`${name} begins`);
        await directory.put(spec(name));
        done.push(`${name} ends`);
      });
    store.hold();
    const all = ['a', 'b'].map(change);
    const failing = directory.inTurn(() => Promise.reject(new Error('no')));
    const last = change('c');
    await rig.clock.settle();
    expect(done).toEqual(['a begins']);
    store.letGo();
    await expect(failing).rejects.toThrow('no');
    await Promise.all([...all, last]);
    expect(done).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });
});

describe('Directory and its keys', () => {
  it('adds and revokes a key once that is durable', async () => {
    const { store, directory } = table();
    const entry = await directory.put(spec('a'));
    await directory.addKeys(entry, [key('k1'), key('k2')]);
    store.trouble = 'failed';
    await expect(directory.removeKey(entry, 'k1')).rejects.toThrow('The store is failed.');
    await expect(directory.addKeys(entry, [key('k3')])).rejects.toThrow('The store is failed.');
    expect(ids(entry)).toEqual(['k1', 'k2']);
    store.trouble = null;
    expect(await directory.removeKey(entry, 'k1')).toBe(true);
    expect(await directory.removeKey(entry, 'k1')).toBe(false);
    expect(ids(entry)).toEqual(['k2']);
    expect([...store.keys.keys()]).toEqual(['k2']);
  });

  it('holds no more keys than a pool may have', async () => {
    const { store, directory } = table();
    const entry = await directory.put(spec('a'));
    const many = Array.from({ length: CEILINGS.keysOfPool }, (_, at) => key(`k${at}`));
    await directory.addKeys(entry, many);
    await expect(directory.addKeys(entry, [key('more')])).rejects.toThrow(DirectoryFullError);
    expect(store.keys.has('more')).toBe(false);
  });

  it('saveUses writes down which keys were used, once, and later what failed', async () => {
    const { rig, store, directory } = table();
    const entry = await directory.put(spec('a'));
    await directory.addKeys(entry, [key('k1'), key('k2')]);
    entry.keys.find('nb_live_k1', () => T0);
    rig.clock.stall(10);
    store.trouble = 'failed';
    await expect(directory.saveUses()).rejects.toThrow();
    store.trouble = null;
    await directory.saveUses();
    expect([...store.uses]).toEqual([['k1', T0 + 10]]);
    store.uses.clear();
    await directory.saveUses();
    expect(store.uses.size).toBe(0);
  });

  function ids(entry: Entry): string[] {
    return entry.keys.rows().map(({ id }) => id);
  }
});

describe('Directory.load', () => {
  it('finds all again as it was: settings, keys, pause, age, owner', async () => {
    const { rig, store, directory } = table();
    const entry = await directory.put(spec('a', 7), true);
    await directory.addKeys(entry, [key('k1')]);
    await directory.setPause(entry, { untilMs: Infinity, reason: 'backup' });
    await directory.put(spec('b'));
    const next = new Rig({ store, clock: rig.clock, isBare: true });
    const loaded = new Directory(store, next.scheduler);
    loaded.load(await store.open());
    expect(loaded.list().map((one) => one.spec.name)).toEqual(['a', 'b']);
    const found = loaded.get('a');
    expect(found).toMatchObject({ spec: spec('a', 7), createdAt: T0, isManaged: true });
    expect(found?.keys.size).toBe(1);
    expect(found?.pool.pause).toEqual({ untilMs: Infinity, reason: 'backup' });
    expect(found?.pool.governor.drainChanges()).toEqual([]);
    expect(next.scheduler.pools.get('b')?.pause).toBeNull();
  });

  it.each([
    ['lease', { lease: { termMs: 5_000, renewIntervalMs: 10_000 } }, 'lease.renewIntervalMs: '],
    ['unknown', { nope: 1 }, 'nope: is no known field'],
  ])('names the pool whose stored settings are not right: %s', async (name, wrong, where) => {
    const { rig, store } = table();
    const settings = JSON.stringify({ name, ...wrong });
    await store.savePools([{ name, settings, createdAt: T0, pause: null, isManaged: false }]);
    const next = new Rig({ store, clock: rig.clock, isBare: true });
    const snapshot = await store.open();
    let said: unknown = null;
    try {
      new Directory(store, next.scheduler).load(snapshot);
    } catch (error) {
      said = error;
    }
    expect(said).toMatchObject({ name: 'StoreError', kind: 'damaged' });
    expect(String(said)).toContain(`The pool ${name} is damaged in the database`);
    expect(String(said)).toContain(where);
  });
});
