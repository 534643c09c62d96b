/**
 * The database file before it is opened: where it is, whether it is sound, and whether what lies
 * beside it belongs to it. It changes nothing but to create what is missing. It must not read the
 * file while a connection is open: closing it would drop SQLite's locks of this process.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type Client, createClient, LibsqlError } from '@libsql/client';
import { type StoredPool, StoreError } from '../store.ts';
import { encodePath } from './file_url.ts';
import { codeOf, storeError } from './store_error.ts';
import { missingMigrations, readSchema } from './migrate.ts';
import { readStoredPools } from './rows.ts';

const MAGIC = 'SQLite format 3\0';

/** Creates the folder where it is missing, closed to other users. */
export function createFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw storeError(error);
    const where = code === 'EEXIST' ? 'is a file' : 'lies below a file';
    throw new StoreError('unusable', `${dirname(path)} ${where}; a folder is wanted.`);
  }
}

/**
 * Creates a database without tables where there is no file, closed to other users. It gets its name
 * when it is whole: an empty file is never one that was just begun, and is refused.
 */
export async function createFile(path: string): Promise<void> {
  if (existsSync(path)) return;
  const part = `${path}.new`;
  let client: Client | null = null;
  try {
    rmSync(part, { force: true });
    const file = openSync(part, 'wx', 0o600);
    try {
      client = createClient({ url: ':memory:' });
      await client.execute({ sql: 'VACUUM INTO ?1', args: [part] });
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    throw storeError(error);
  } finally {
    client?.close();
  }
}

/**
 * A database under several names would have a log and a lock beside each of them.
 * @throws StoreError `damaged`
 */
export function refuseOtherNames(path: string): void {
  const stats = statsOf(path);
  if (!stats?.isFile() || !(stats.nlink > 1)) return;
  throw new StoreError(
    'damaged',
    `The database ${path} has ${stats.nlink} names (hard links), and one alone is wanted: remove ` +
      'the others or, where a restore broke off, run it again.',
  );
}

/**
 * Reads the file through and leaves every byte of it as it is. Gives the pools in it; null where it
 * is new: no schema was ever brought to its end in it.
 * @throws StoreError `damaged`, `foreign`, `newer_schema`, `failed` or `unusable`
 */
export async function inspectFile(path: string): Promise<readonly StoredPool[] | null> {
  const stats = statsOf(path);
  if (stats?.isDirectory()) {
    throw new StoreError('unusable', `The database ${path} is a folder; a file is wanted.`);
  }
  const size = stats?.size ?? null;
  const walSize = sizeOf(`${path}-wal`);
  if (walSize > 0 && !size) throw leftoverError(path);
  if (size === null) return null;
  if (size === 0) throw emptyError(path);
  const header = readHeader(path);
  if (!beginsAsSqlite(header)) throw damagedError(path);
  // Byte 18: 2 where a write-ahead log may be. Copies made by VACUUM INTO have 1.
  if (walSize > 0 && header[18] !== 2) throw leftoverError(path);
  // A crash in the first moments of a new file: SQLite takes those back when it opens the file.
  if (sizeOf(`${path}-journal`) > 0) return null;
  const before = walSize > 0 ? await marksInMainFile(path) : null;
  // Reading a database with a log needs the log's files; without them not one may appear.
  const mode = existsSync(`${path}-wal`) ? 'mode=ro' : 'immutable=1';
  const found = await withReader(path, mode, async (client) => {
    const { rows } = await client.execute('PRAGMA quick_check(1)');
    if (rows[0]?.quick_check !== 'ok') {
      throw walSize > 0 ? leftoverError(path) : damagedError(path);
    }
    const schema = await readSchema(client);
    missingMigrations(schema, path);
    if (schema.hashes.length === 0) return { pools: null, marks: null };
    return { pools: await readStoredPools(client), marks: await readMarks(client) };
  });
  const { pools, marks } = found;
  // A living owner may checkpoint meanwhile, so the main file is read on either side.
  const after = walSize > 0 ? await marksInMainFile(path) : null;
  if (before === null || marks === null || after === null) return pools;
  const isOfItsTime = before.writes <= marks.writes && marks.base <= after.writes;
  if (before.origin !== marks.origin || !isOfItsTime) throw leftoverError(path);
  return pools;
}

/** Whether the file begins as every database does that something was written to. */
export function isSqlite(path: string): boolean {
  return beginsAsSqlite(readHeader(path));
}

function beginsAsSqlite(header: Buffer): boolean {
  return header.toString('latin1', 0, MAGIC.length) === MAGIC;
}

/** Whether a part of the database is in a log beside the file, which alone is not the whole. */
export function hasLog(path: string): boolean {
  return sizeOf(`${path}-wal`) > 0 || sizeOf(`${path}-journal`) > 0;
}

/**
 * By these the log beside a main file is known for its own. Only a checkpoint writes the main
 * file: it never holds more transactions than the log, nor fewer than the log builds on.
 */
interface Marks {
  readonly origin: string;
  readonly writes: number;
  readonly base: number;
}

async function readMarks(client: Client): Promise<Marks | null> {
  const row = (await client.execute('SELECT origin, writes, base FROM claim')).rows[0];
  if (row === undefined) return null;
  return { origin: String(row.origin), writes: Number(row.writes), base: Number(row.base) };
}

/** The marks in the main file, its write-ahead log left aside; null where it has none yet. */
async function marksInMainFile(path: string): Promise<Marks | null> {
  try {
    return await withReader(path, 'immutable=1', readMarks);
  } catch {
    // A checkpoint that a crash cut short may leave the main file like that; the log mends it.
    return null;
  }
}

async function withReader<T>(
  path: string,
  mode: string,
  read: (client: Client) => Promise<T>,
): Promise<T> {
  let client: Client | null = null;
  try {
    // The client knows no such options, but hands a path that is a URI itself on to SQLite.
    const uri = `file:${encodePath(path)}?${mode}`;
    client = createClient({ url: `file:${encodeURIComponent(uri)}`, concurrency: 1 });
    return await read(client);
  } catch (error) {
    if (isDamage(error)) throw damagedError(path, error);
    throw storeError(error);
  } finally {
    client?.close();
  }
}

export function isDamage(error: unknown): boolean {
  if (!(error instanceof LibsqlError)) return false;
  const { code, extendedCode } = error;
  return code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB' ||
    extendedCode === 'SQLITE_IOERR_SHORT_READ';
}

function sizeOf(path: string): number {
  return statsOf(path)?.size ?? 0;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw storeError(error);
  }
}

function readHeader(path: string): Buffer {
  const header = Buffer.alloc(100);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, header, 0, header.length, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw storeError(error);
  }
  return header;
}

export function damagedError(path: string, cause?: unknown): StoreError {
  return new StoreError(
    'damaged',
    `The database ${path} is damaged; it was left as it is. Restore a backup in its place, ` +
      `and remove ${path}-wal and ${path}-shm first if they are there.`,
    { cause },
  );
}

function emptyError(path: string): StoreError {
  return new StoreError(
    'damaged',
    `The database ${path} is an empty file, as a full disk or a copy that broke off leaves one; ` +
      'it was left as it is. Restore a backup in its place, or remove it to begin anew.',
  );
}

function leftoverError(path: string): StoreError {
  return new StoreError(
    'damaged',
    `The database ${path} does not fit the ${path}-wal beside it, which seems to be left from ` +
      `another copy; both were left as they are. If you have just restored a backup, remove ` +
      `${path}-wal and ${path}-shm; otherwise restore a backup.`,
  );
}
