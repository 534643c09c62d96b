/** The libSQL store on a database that is locked, or whose disk is full or read-only. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Client, createClient } from '@libsql/client';
import { afterEach, describe, expect, test } from 'vitest';
import { LibsqlStore } from '../../src/store/libsql.ts';
import {
  batch,
  begin,
  crashCopy,
  entry,
  folder,
  libsqlAt,
  lockHolder,
  opened,
  pool,
  slotIds,
} from './samples.ts';

describe('a crash after a checkpoint', () => {
  test('is recovered from whatever else was written beside it', async () => {
    for (const writes of [0, 1, 3, 12]) {
      const path = join(folder(), 'a.db');
      const store = await opened(path);
      for (let n = 0; n < 1100; n += 1) await store.commit(begin(`s${n}`));
      const settings = async () => {
        for (let n = 0; n < writes; n += 1) await store.savePools([pool(`p${n}`)]);
      };
      await Promise.all([store.fold(), settings()]);
      expect(await slotIds(libsqlAt(crashCopy(path))), `${writes} writes`).toHaveLength(1100);
      await store.close();
    }
  });
});

test('a store that is closed while a fold goes on waits for its checkpoint', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  for (let n = 0; n < 600; n += 1) await store.commit(begin(`s${n}`));
  const folding = store.fold();
  await store.close();
  await folding;
  expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
});

describe('a database file that is moved while it is open', () => {
  test('fails all writes from the next fold on, and goes on when it is back', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    await store.commit(begin('s1'));
    renameSync(path, `${path}.away`);
    const moved = { name: 'StoreError', kind: 'failed' };
    await expect(store.fold()).rejects.toMatchObject(moved);
    await expect(store.commit(begin('never'))).rejects.toMatchObject(moved);
    await expect(store.savePools([pool('b')])).rejects.toMatchObject(moved);
    expect(existsSync(path), 'nothing was made in its place').toBe(false);
    writeFileSync(path, 'another file');
    await expect(store.commit(begin('never'))).rejects.toMatchObject(moved);
    renameSync(`${path}.away`, path);
    await store.commit(begin('s2'));
    await store.close();
    expect(await slotIds(libsqlAt(path))).toEqual(['s1', 's2']);
  });
});

describe('a write-ahead log', () => {
  test('that is removed while it is open is kept in the main file, and made anew', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    await store.commit(begin('s1'));
    await store.fold();
    rmSync(`${path}-wal`);
    await store.commit(begin('s2'));
    const removed = { name: 'StoreError', kind: 'failed' };
    await expect(store.fold()).rejects.toMatchObject(removed);
    await store.commit(begin('s3'));
    await store.fold();
    await store.commit(begin('s4'));
    expect(await slotIds(libsqlAt(crashCopy(path)))).toEqual(['s1', 's2', 's3', 's4']);
    await store.close();
  });

  test('that is removed before the first commit takes none that a crash would lose', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    rmSync(`${path}-wal`);
    await expect(store.commit(begin('s1'))).rejects.toMatchObject({ kind: 'failed' });
    await store.commit(begin('s2'));
    expect(await slotIds(libsqlAt(crashCopy(path)))).toEqual(['s2']);
    await store.close();
  });

  test('that grew while somebody read from it is small again afterwards', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    const reader = createClient({ url: `file:${path}` });
    const reading = await reader.transaction('read');
    await reading.execute('SELECT count(*) FROM value');
    for (let n = 0; n < 3; n += 1) await store.saveValue(`large${n}`, 'x'.repeat(8 << 20));
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(24 << 20);
    await reading.commit();
    reader.close();
    const entries = Array.from({ length: 1_000 }, (_, n) => entry(`e${n}`));
    await store.commit(batch({ entries }));
    await store.fold();
    expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(16 << 20);
    await store.close();
  });
});

describe('while another connection holds the write lock', () => {
  const outside = async (path: string, use: (client: Client) => Promise<void>) => {
    const client = createClient({ url: `file:${path}`, timeout: 0 });
    await use(client);
    client.close();
  };

  test('all writes are refused as busy, and all goes on when it ends', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    await store.commit(begin('s1'));
    await outside(path, async (client) => {
      for (let round = 0; round < 3; round += 1) {
        const holder = await client.transaction('write');
        for (let n = 0; n < 5; n += 1) {
          const busy = { name: 'StoreError', kind: 'busy' };
          await expect(store.commit(begin('never'))).rejects.toMatchObject(busy);
          await expect(store.fold()).rejects.toMatchObject(busy);
          await expect(store.savePools([pool('b')])).rejects.toMatchObject(busy);
          await expect(store.probe()).rejects.toMatchObject(busy);
        }
        await holder.commit();
        await store.commit(begin(`t${round}`));
        await store.fold();
        await client.execute(`INSERT INTO value VALUES ('outside ${round}', '1')`);
        await store.commit(begin(`u${round}`));
      }
    });
    expect(await slotIds(libsqlAt(crashCopy(path)))).toEqual(
      ['s1', 't0', 't1', 't2', 'u0', 'u1', 'u2'],
    );
    expect(await store.readValue('outside 2')).toBe('1');
    expect((await store.readLog({ pool: 'a', limit: 99 })).entries).toHaveLength(7);
    await store.close();
  });

  test.runIf(existsSync('/proc/self/fd'))('files do not pile up', async () => {
    const home = folder();
    const path = join(home, 'a.db');
    const store = await opened(path);
    const files = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(home);
        } catch {
          return false;
        }
      }).length;
    await outside(path, async (client) => {
      const before = files();
      const holder = await client.transaction('write');
      for (let n = 0; n < 200; n += 1) {
        await expect(store.commit(begin('never'))).rejects.toMatchObject({ kind: 'busy' });
      }
      await holder.rollback();
      expect(files() - before).toBeLessThan(12);
    });
    await store.commit(begin('s1'));
    await store.close();
  });

  test('opening is refused as busy, and works afterwards', async () => {
    const path = join(folder(), 'a.db');
    await (await opened(path)).close();
    await outside(path, async (client) => {
      const holder = await client.transaction('write');
      await expect(libsqlAt(path).open()).rejects.toMatchObject({ kind: 'busy' });
      await holder.commit();
      await expect(libsqlAt(path).open()).resolves.toMatchObject({ isNew: false });
    });
  });

  test('a start that waited for it keeps its log when another process closes', async () => {
    const original = join(folder(), 'a.db');
    await opened(original);
    // A file that no connection of this process was ever on.
    const path = crashCopy(original);
    const holder = await lockHolder(path);
    const store = libsqlAt(path);
    await expect(store.open()).rejects.toMatchObject({ kind: 'busy' });
    await expect(store.open()).rejects.toMatchObject({ kind: 'busy' });
    await holder.end();
    await store.open();
    const { ino } = statSync(`${path}-wal`);
    await (await lockHolder(path)).end();
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.ino).toBe(ino);
    await store.close();
  });

  test('another process is no different', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    const holder = await lockHolder(path);
    await expect(store.commit(begin('s1'))).rejects.toMatchObject({ kind: 'busy' });
    await holder.end();
    await store.commit(begin('s1'));
    expect(await store.readValue('outside')).toBe('1');
    await store.close();
  });
});

/** A file system of so many KB, where this machine lets us mount one. */
const mounts: string[] = [];

function mounted(size: string): string | null {
  const at = folder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at], { stdio: 'ignore' });
  } catch {
    return null;
  }
  mounts.push(at);
  return at;
}

afterEach(() => {
  for (const at of mounts.splice(0)) execFileSync('umount', ['-l', at]);
});

describe('on a small file system', () => {
  test('a full disk fails commits, and room brings all back', async ({ skip }) => {
    const home = mounted('2m');
    if (home === null) return skip('mounting a small file system is not permitted here');
    const path = join(home, 'a.db');
    const store = await opened(path);
    await store.commit(begin('s1'));
    writeFileSync(join(home, 'ballast'), '');
    try {
      for (let n = 0; n < 4096; n += 1) {
        writeFileSync(join(home, 'ballast'), Buffer.alloc(4096), { flag: 'a' });
      }
    } catch { /* it is full now */ }
    let kind = '';
    const resolved = ['s1'];
    for (let n = 0; n < 200; n += 1) {
      await store.commit(begin(`t${n}`)).then(
        () => resolved.push(`t${n}`),
        (error) => kind = error.kind,
      );
    }
    expect(kind).toBe('failed');
    rmSync(join(home, 'ballast'));
    await store.commit(begin('u1'));
    await store.fold();
    await store.commit(begin('u2'));
    resolved.push('u1', 'u2');
    expect(await slotIds(libsqlAt(crashCopy(path)))).toEqual(resolved.sort());
    await store.close();
  });

  test('a read-only disk is told as one that somebody must see to', async ({ skip }) => {
    const home = mounted('2m');
    if (home === null) return skip('mounting a small file system is not permitted here');
    const path = join(home, 'a.db');
    const made = join(folder(), 'a.db');
    await (await opened(made)).close();
    copyFileSync(made, path);
    execFileSync('mount', ['-o', 'remount,ro', home]);
    await expect(libsqlAt(path).open()).rejects.toMatchObject({ kind: 'unusable' });
    execFileSync('mount', ['-o', 'remount,rw', home]);
    await expect(libsqlAt(path).open()).resolves.toMatchObject({ isNew: false });
  });
});

test('a remote database that never answers has failed after 5 s', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const store = new LibsqlStore({
    url: `http://127.0.0.1:${port}`,
    owner: 'o1',
    sleep: () => Promise.resolve(),
  });
  await expect(store.open()).rejects.toMatchObject({ name: 'StoreError', kind: 'failed' });
  silent.closeAllConnections();
  silent.close();
}, 15_000);
