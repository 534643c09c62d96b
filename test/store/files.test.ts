/** The database file of a libSQL store: what is refused and kept as it is, and what is made. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { createClient } from '@libsql/client';
import { describe, expect, test } from 'vitest';
import {
  begin,
  crashCopy,
  folder,
  libsqlAt,
  lockHolder,
  opened,
  pool,
  slotIds,
} from './samples.ts';

/** All files of the database but the shared-memory index, which SQLite makes anew. */
function bytesAt(path: string): Record<string, string> {
  const bytes: Record<string, string> = {};
  for (const name of [path, `${path}-wal`]) {
    if (!existsSync(name)) continue;
    bytes[name] = createHash('sha256').update(readFileSync(name)).digest('hex');
  }
  return bytes;
}

async function refusal(path: string): Promise<Error & { kind: string }> {
  const before = bytesAt(path);
  const error = await libsqlAt(path).open().then(() => null, (error) => error);
  expect(bytesAt(path)).toEqual(before);
  expect(error).not.toBeNull();
  return error;
}

/** A database that a killed process left, with a write-ahead log. */
async function killed(): Promise<string> {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  for (let n = 0; n < 300; n += 1) await store.commit(begin(`s${n}`));
  await store.fold();
  return crashCopy(path);
}

describe('a database that is refused keeps every byte', () => {
  test('written by a newer version', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    const client = createClient({ url: `file:${path}` });
    await client.execute(
      `INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('unknown', 9000000000000)`,
    );
    client.close();
    await store.commit(begin('s1'));
    const copy = crashCopy(path);
    const error = await refusal(copy);
    expect(error).toMatchObject({ kind: 'newer_schema' });
    expect(error.message).toContain(copy);
    await store.close();
    expect(await refusal(path)).toMatchObject({ kind: 'newer_schema' });
  });

  test('no database at all', async () => {
    const path = join(folder(), 'a.db');
    writeFileSync(path, 'x'.repeat(9000));
    const error = await refusal(path);
    expect(error).toMatchObject({ name: 'StoreError', kind: 'damaged' });
    expect(error.message).toContain('Restore a backup');
    writeFileSync(path, 'SQLite format 3\0 and no more');
    expect(await refusal(path)).toMatchObject({ kind: 'damaged' });
  });

  test('with pages that are damaged or missing', async () => {
    const path = await killed();
    await (await opened(path)).close();
    const whole = readFileSync(path);
    const damaged = (bytes: Buffer) => {
      const copy = join(folder(), 'a.db');
      writeFileSync(copy, bytes);
      return copy;
    };
    const filled = (from: number, to: number) =>
      damaged(Buffer.from(whole).fill(0x5a, from * 4096, to * 4096));
    for (let page = 1; page < whole.length / 4096; page += 3) {
      const found = await libsqlAt(filled(page, page + 1)).open().catch((error) => error);
      // A page that is free may hold anything.
      if (found instanceof Error) expect(found).toMatchObject({ kind: 'damaged' });
      else expect(found.leases).toHaveLength(300);
    }
    expect(await refusal(filled(1, 3))).toMatchObject({ kind: 'damaged' });
    const cut = whole.subarray(0, whole.length - 4096);
    expect(await refusal(damaged(cut))).toMatchObject({ kind: 'damaged' });
  });

  test.each(['lease', 'history', 'journal', 'log_segment'])(
    'without its table %s',
    async (table) => {
      const path = join(folder(), 'a.db');
      await (await opened(path)).close();
      const client = createClient({ url: `file:${path}` });
      await client.execute(`DROP TABLE ${table}`);
      client.close();
      const error = await refusal(path);
      expect(error).toMatchObject({ kind: 'damaged' });
      expect(error.message).toContain(`${path} lacks its table "${table}"`);
    },
  );

  test('an empty file, as a full disk leaves one', async () => {
    const path = join(folder(), 'a.db');
    writeFileSync(path, '');
    const error = await refusal(path);
    expect(error).toMatchObject({ kind: 'damaged' });
    expect(error.message).toMatch(/is an empty file.*remove it to begin anew\.$/);
  });

  test('with several names, each of which would have a log of its own', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    await store.commit(begin('s1'));
    await store.close();
    const other = join(folder(), 'b.db');
    linkSync(path, other);
    for (const name of [path, other]) {
      const error = await refusal(name);
      expect(error).toMatchObject({ kind: 'damaged' });
      expect(error.message).toContain(`${name} has 2 names`);
    }
    rmSync(other);
    expect(await slotIds(libsqlAt(path))).toEqual(['s1']);
  });

  test('of another program', async () => {
    const path = join(folder(), 'a.db');
    const client = createClient({ url: `file:${path}` });
    await client.executeMultiple('CREATE TABLE pool (id); INSERT INTO pool VALUES (1);');
    client.close();
    const error = await refusal(path);
    expect(error).toMatchObject({ kind: 'foreign' });
    expect(error.message).toContain('belongs to another program');
  });
});

describe('a backup beside a write-ahead log of another time', () => {
  test('of an earlier run is refused, and opens when the log is removed', async () => {
    const path = await killed();
    const early = await opened(path);
    await early.close();
    const backup = `${path}.backup`;
    copyFileSync(path, backup);
    const late = await opened(path);
    for (let n = 0; n < 50; n += 1) await late.commit(begin(`late${n}`));
    await late.savePools([pool('b')]);
    const left = crashCopy(path);
    copyFileSync(backup, left);
    const error = await refusal(left);
    expect(error).toMatchObject({ kind: 'damaged' });
    expect(error.message).toContain(`${left}-wal`);
    // As another process sees it once the log is removed: this one still has it mapped.
    const alone = join(folder(), 'a.db');
    copyFileSync(left, alone);
    expect(await slotIds(libsqlAt(alone))).toHaveLength(300);
  });

  test('of a later run, or of another database, is refused', async () => {
    const left = await killed();
    const later = join(folder(), 'a.db');
    copyFileSync(left, later);
    copyFileSync(`${left}-wal`, `${later}-wal`);
    for (let n = 0; n < 4; n += 1) await (await opened(later)).close();
    copyFileSync(later, left);
    expect((await refusal(left)).message).toContain(`${left}-wal`);

    const other = join(folder(), 'a.db');
    const store = libsqlAt(other, { owner: 'o9' });
    await store.open();
    await store.close();
    const mixed = await killed();
    copyFileSync(other, mixed);
    expect((await refusal(mixed)).message).toContain(`${mixed}-wal`);
  });

  test('made with VACUUM INTO while it ran is refused', async () => {
    const path = join(folder(), 'a.db');
    const store = await opened(path);
    for (let n = 0; n < 50; n += 1) await store.commit(begin(`s${n}`));
    const client = createClient({ url: `file:${path}` });
    await client.execute({ sql: 'VACUUM INTO ?1', args: [`${path}.backup`] });
    client.close();
    await store.commit(begin('late'));
    const left = crashCopy(path);
    copyFileSync(`${path}.backup`, left);
    expect((await refusal(left)).message).toContain(`${left}-wal`);
    rmSync(`${left}-wal`);
    expect(await slotIds(libsqlAt(left))).toHaveLength(50);
  });

  test('of which the main file is gone is refused', async () => {
    const path = await killed();
    rmSync(path);
    expect((await refusal(path)).message).toContain(`${path}-wal`);
  });
});

test.each([
  ["UPDATE pool SET settings = '{'", 'damaged', 'The pool a is damaged'],
  ["UPDATE pool SET pause = 'x'", 'damaged', 'The pool a is damaged'],
  ["INSERT INTO journal VALUES (999999999, '[x')", 'unusable', 'could not be read'],
])('a row that makes no sense is told as such: %s', async (change, kind, said) => {
  const path = join(folder(), 'a.db');
  await (await opened(path)).close();
  const client = createClient({ url: `file:${path}` });
  await client.execute(change);
  client.close();
  const error = await libsqlAt(path).open().then(() => null, (failure) => failure);
  expect(error).toMatchObject({ name: 'StoreError', kind });
  expect(error.message).toContain(said);
});

const refusalOf = (path: string) =>
  Promise.resolve().then(() => libsqlAt(path).open()).then(() => '', ({ kind }) => kind);

describe('files', () => {
  test.each(['a file', 'nothing yet'])('a link to %s is followed, the lock too', async (what) => {
    const [home, volume] = [folder(), folder()];
    const path = join(volume, 'a.db');
    const link = join(home, 'b.db');
    if (what === 'a file') await (await opened(path)).close();
    symlinkSync(join('..', basename(home), 'c.db'), link);
    symlinkSync(path, join(home, 'c.db'));
    const locked: string[] = [];
    const lock = (name: string) => Promise.resolve(locked.push(name) > 0);
    const store = libsqlAt(link, { lock });
    await store.open();
    await store.savePools([pool('a')]);
    await store.commit(begin('s1'));
    await store.fold();
    await store.close();
    expect(locked).toEqual([`${path}-lock`]);
    expect(readdirSync(home)).toEqual(['b.db', 'c.db']);
    expect(await slotIds(libsqlAt(path))).toEqual(['s1']);
  });

  test('a missing folder is made, and is closed to others like the database', async () => {
    const home = folder();
    const path = join(home, 'x y', 'é%20', 'a?b#.db');
    const store = libsqlAt(path.split('/').map(encodeURIComponent).join('/'));
    await store.open();
    expect(statSync(join(home, 'x y', 'é%20')).mode & 0o777).toBe(0o700);
    for (const name of ['', '-wal', '-shm']) {
      expect(statSync(path + name).mode & 0o777).toBe(0o600);
    }
    await store.close();
  });

  test('what cannot be a database file is told as unusable', async () => {
    const home = folder();
    mkdirSync(join(home, 'a.db'));
    expect(await refusalOf(join(home, 'a.db'))).toBe('unusable');
    writeFileSync(join(home, 'file'), '');
    expect(await refusalOf(join(home, 'file', 'a.db'))).toBe('unusable');
  });
});

test('a file that takes the place of one that was waited for is inspected, too', async () => {
  const path = crashCopy(await killed());
  const store = libsqlAt(path);
  const holder = await lockHolder(path);
  await expect(store.open()).rejects.toMatchObject({ kind: 'busy' });
  renameSync(path, `${path}.old`);
  writeFileSync(path, 'no database'.repeat(1000));
  await expect(store.open()).rejects.toMatchObject({ kind: 'damaged' });
  rmSync(path);
  renameSync(`${path}.old`, path);
  await holder.end();
});
