/** `backup` of what is no database, and `restore` of what is no backup: both change nothing. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folder, libsqlAt, opened, pool } from '../store/samples.ts';
import type { LibsqlStore } from '../../src/store/libsql.ts';
import { start } from './process.ts';

let path = '';
let open: LibsqlStore | null = null;

beforeEach(() => {
  path = folder();
  mkdirSync(join(path, 'data'));
  for (const name of ['n.db', 'n.db-wal']) file(join('data', name), `${name} was there`);
});
afterEach(async () => {
  await open?.close();
  open = null;
});

/** Every file of the database's folder, with what is in it. */
function state(): string[] {
  return readdirSync(join(path, 'data')).sort().map((name) => {
    const bytes = readFileSync(join(path, 'data', name));
    return `${name} ${createHash('sha256').update(bytes).digest('hex')}`;
  });
}

function restore(file: string, ...db: string[]) {
  const [where = join(path, 'data', 'n.db')] = db;
  return start(['restore', join(path, file), '--db', `file:${where}`]).finished;
}

async function database(name: string, ...statements: string[]): Promise<string> {
  const client = createClient({ url: `file:${join(path, name)}` });
  for (const sql of statements) await client.execute(sql);
  client.close();
  return name;
}

async function sound(name: string): Promise<Buffer> {
  await (await opened(join(path, name))).close();
  return readFileSync(join(path, name));
}

function file(name: string, bytes: string | Uint8Array): string {
  writeFileSync(join(path, name), bytes);
  return name;
}

const CASES: readonly [came: string, make: () => Promise<string> | string][] = [
  ['empty', () => file('empty', '')],
  ['no SQLite database', () => file('list', 'a shopping list\n'.repeat(500))],
  ['no SQLite database', () => file('short', 'x')],
  ['no plain file', () => {
    mkdirSync(join(path, 'folder'));
    return 'folder';
  }],
  ['a database without any data', () => database('new', 'PRAGMA user_version = 1')],
  ['a database of another program', () => database('theirs', 'CREATE TABLE t (a)')],
  ['a damaged database', async () => file('cut', (await sound('a.db')).subarray(0, 50_000))],
  ['a damaged database', async () => {
    const bytes = await sound('b.db');
    bytes.fill(0x55, 4_096, 20_000);
    return file('bad', bytes);
  }],
  ['a database of which a part is in the log beside it', async () => {
    open = await opened(join(path, 'live.db'));
    return 'live.db';
  }],
];

describe('restore', () => {
  it.each(CASES)('of what is %s is refused, and changes nothing', async (came, make) => {
    const name = await make();
    const before = state();
    expect(await restore(name)).toMatchObject({
      code: 4,
      out: '',
      err:
        `nthbouncer: ${join(path, name)} cannot be restored: a copy that \`nthbouncer backup\` ` +
        `made is wanted, and it is ${came}\n`,
    });
    expect(state()).toEqual(before);
    expect((await restore(name, join(path, 'fresh', 'n.db'))).code).toBe(4);
    expect(readdirSync(path)).not.toContain('fresh');
  });

  it('of a file that is not there names it, and changes nothing', async () => {
    const before = state();
    const { code, err } = await restore('nowhere');
    expect({ code, err }).toEqual({
      code: 4,
      err: `nthbouncer: there is no file ${join(path, 'nowhere')}\n`,
    });
    expect(state()).toEqual(before);
  });

  it.each([
    ['itself', () => join('data', 'n.db')],
    ['a link to it', (of: string) => (symlinkSync(of, join(path, 'link')), 'link')],
    ['another name of it', (of: string) => (linkSync(of, join(path, 'hard')), 'hard')],
  ])('of the database from %s is refused, and changes nothing', async (_, make) => {
    const name = make(join(path, 'data', 'n.db'));
    const before = state();
    const { code, err } = await restore(name);
    expect([code, err.split('\n').length]).toEqual([2, 2]);
    expect(err).toContain('is the database itself; a backup is wanted');
    expect(state()).toEqual(before);
  });

  it('of a copy of a stopped database is done, and keeps the one that was there', async () => {
    const other = await opened(join(path, 'other.db'));
    await other.savePools([pool('b')]);
    await other.close();
    cpSync(join(path, 'other.db'), join(path, 'copy'));
    expect(await restore('copy')).toMatchObject({ code: 0, err: '' });
    const store = libsqlAt(join(path, 'data', 'n.db'));
    expect((await store.open()).pools.map(({ name }) => name)).toEqual(['a', 'b']);
    await store.close();
    for (const suffix of ['', '-wal']) {
      const kept = join(path, 'data', `n.db.before-restore-1${suffix}`);
      expect(readFileSync(kept, 'utf8')).toBe(`n.db${suffix} was there`);
    }
  });

  it('that fails leaves no copy behind', async () => {
    await sound('a.db');
    mkdirSync(join(path, 'taken', 'n.db'), { recursive: true });
    const { code, err } = await restore('a.db', join(path, 'taken', 'n.db'));
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/not restored: .*\n$/) });
    expect(readdirSync(join(path, 'taken'))).toEqual(['n.db', 'n.db-lock']);
  });
}, 30_000);

describe('backup', () => {
  it('into a folder that is not there says so, and is a wrong argument', async () => {
    const target = join(path, 'nowhere', 'copy');
    const db = `file:${join(path, await database('n.db', 'CREATE TABLE t (a)'))}`;
    expect(await start(['backup', target, '--db', db]).finished).toMatchObject({
      code: 2,
      err: `nthbouncer: backup: there is no folder ${join(path, 'nowhere')}\n`,
    });
  });

  it.each([
    ['an empty file', () => file('empty', '')],
    ['a list', () => file('list', 'a shopping list\n'.repeat(500))],
    ['another program', () => database('theirs', 'CREATE TABLE t (a)')],
    ['a damaged one', async () => file('cut', (await sound('a.db')).subarray(0, 50_000))],
  ])('of %s is none: 4, one line, and no file', async (_, make) => {
    const db = await make();
    const words = ['backup', join(path, 'copy'), '--db', `file:${join(path, db)}`];
    const { code, out, err } = await start(words).finished;
    expect({ code, out, err }).toEqual({
      code: 4,
      out: '',
      err: expect.stringMatching(/^nthbouncer: no backup was made in \S+: .*\n$/),
    });
    expect(readdirSync(path).filter((name) => name.startsWith('copy'))).toEqual([]);
  });
}, 30_000);
