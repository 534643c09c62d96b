/**
 * Rows for the tests of stores, and stores in folders of their own. The clock of these tests
 * stands at {@link T0}.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterEach, expect } from 'vitest';
import type { LogEntry } from '../../src/store/entry.ts';
import { type LibsqlOptions, LibsqlStore } from '../../src/store/libsql.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import type { Batch, KeyRow, LeaseRow, PoolRow, Store } from '../../src/store/store.ts';

export const T0 = 1_800_000_000_000;
/** Since when entries are spared, where none are. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export function pool(name: string, more: Partial<PoolRow> = {}): PoolRow {
  return { name, settings: '{"limit":2}', createdAt: T0, pause: null, isManaged: false, ...more };
}

export function key(id: string, more: Partial<KeyRow> = {}): KeyRow {
  return {
    id,
    pool: 'a',
    name: `name of ${id}`,
    hash: `hash of ${id}`,
    prefix: 'nth_abcd',
    createdAt: T0,
    expiresAt: null,
    lastUsedAt: null,
    ...more,
  };
}

export function lease(slotId: string, more: Partial<LeaseRow> = {}): LeaseRow {
  return {
    slotId,
    pool: 'a',
    slots: 1,
    fence: T0 * 1000,
    attempt: '1a',
    keyId: 'k1',
    holder: null,
    grantedAt: T0,
    termMs: 30_000,
    requestDeadline: T0 + 60_000,
    inFlight: 1,
    tokens: 0,
    ...more,
  };
}

export function entry(id: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    id,
    at: T0,
    pool: 'a',
    kind: 'lock',
    outcome: 'granted',
    status: 200,
    reason: null,
    queuedMs: 0,
    slots: 1,
    keyId: 'k1',
    address: '127.0.0.1',
    holder: null,
    ...more,
  };
}

export function batch(more: Partial<Batch> = {}): Batch {
  return { leases: [], ended: [], entries: [], fence: 0, ...more };
}

/** What a flush writes of one grant. */
export function begin(slotId: string): Batch {
  return batch({ leases: [lease(slotId)], entries: [entry(slotId)] });
}

/** Opens the store; the leases that it knows. */
export async function slotIds(store: Store): Promise<string[]> {
  return (await store.open()).leases.map(({ slotId }) => slotId).sort();
}

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder that is gone after the test. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'store-'));
  folders.push(made);
  return made;
}

/** A store whose lock is always given. */
export function libsqlAt(path: string, more: Partial<LibsqlOptions> = {}): LibsqlStore {
  return unlockedAt(path, { lock: () => Promise.resolve(true), ...more });
}

/** How to make a database, as a function that gives a store on it as after a restart. */
export const MAKERS: readonly [name: string, make: () => () => Store][] = [
  ['memory', () => {
    const store = new MemoryStore();
    return () => store;
  }],
  ['libsql file', () => {
    const path = join(folder(), 'a.db');
    return () => libsqlAt(path);
  }],
];

/** An open store with the pool `a`. */
export async function opened(path: string): Promise<LibsqlStore> {
  const store = libsqlAt(path);
  await store.open();
  await store.savePools([pool('a')]);
  return store;
}

/** A store that knows of other owners by their beat alone. */
export function unlockedAt(path: string, more: Partial<LibsqlOptions> = {}): LibsqlStore {
  return new LibsqlStore({
    url: `file:${path}`,
    owner: 'o1',
    sleep: () => Promise.resolve(),
    ...more,
  });
}

/** What a process that is killed now leaves of its database: a copy that can be opened. */
export function crashCopy(path: string): string {
  const copy = join(folder(), 'copy.db');
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  return copy;
}

const HOLDER = `
  import Database from 'libsql';
  const database = new Database(process.argv[1]);
  database.exec('BEGIN IMMEDIATE');
  process.stdin.once('data', () => {
    database.exec("INSERT OR REPLACE INTO value VALUES ('outside', '1'); COMMIT");
    database.close();
    process.exit(0);
  });
  console.log('locked');`;

/** Another process that holds the write lock, and writes the value `outside` when it is ended. */
export async function lockHolder(path: string): Promise<{ end(): Promise<void> }> {
  const child = spawn('node', ['--input-type=module', '-e', HOLDER, path]);
  const ended = new Promise((done) => child.once('exit', done));
  await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    async end() {
      child.stdin.write('end\n');
      expect(await ended).toBe(0);
    },
  };
}

/** An open store as an older program left it: a segment for each of so many entries of pool `a`. */
export async function openedWithSegments(path: string, count: number): Promise<LibsqlStore> {
  await (await opened(path)).close();
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.batch([
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO log_segment SELECT 'a', i, i, 1, ?2 + i, ?2 + i, '|granted|',
          json_array(json_array(?2 + i, json_array('a', 'lock', 'granted'),
            json_array(json_array('s' || i, 0, 1, 2, 3, 200, null, 0, 1, null, null, null))))
        FROM n`,
      args: [count, T0],
    },
    { sql: 'UPDATE claim SET logged = ?1', args: [count] },
  ], 'write');
  client.close();
  const store = libsqlAt(path);
  await store.open();
  return store;
}
