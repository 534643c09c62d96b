/**
 * The rows that administrators change: pools, keys and named values. Statements are built with
 * drizzle and written under the guard of the claim. It decides nothing about what the rows say.
 */
import type { Client, InStatement } from '@libsql/client';
import { eq, lt, sql } from 'drizzle-orm';
import { governor, governorChange, key, nonce, pool, value } from '../../../db/schema.ts';
import {
  damagedPoolError,
  type KeyChanges,
  type KeyRow,
  type NonceRow,
  type PoolRow,
  type StoredPool,
} from '../store.ts';
import type { Connection } from './connection.ts';

/** Rows of one statement; SQLite takes 32766 parameters. */
const ROWS_A_STATEMENT = 500;
const NO_KEYS: KeyChanges = { saved: [], removed: [] };

/** @throws StoreError `damaged` where what is stored of one is no JSON. */
export async function readPools(connection: Connection): Promise<PoolRow[]> {
  const rows = await connection.run(() =>
    connection.drizzle.select().from(pool).orderBy(pool.name).execute()
  );
  for (const { name, settings, pause } of rows) mustBeJson(name, [settings, pause ?? 'null']);
  return rows;
}

/** The pools of a database whose schema may be older. @throws StoreError as {@link readPools} */
export async function readStoredPools(client: Pick<Client, 'execute'>): Promise<StoredPool[]> {
  const { rows } = await client.execute('SELECT name, settings FROM pool ORDER BY name');
  return rows.map((row) => {
    const [name, settings] = [String(row.name), String(row.settings)];
    mustBeJson(name, [settings]);
    return { name, settings };
  });
}

function mustBeJson(pool: string, texts: readonly string[]): void {
  try {
    for (const text of texts) JSON.parse(text);
  } catch {
    throw damagedPoolError(pool, 'what is stored of it is no JSON');
  }
}

export function readKeys(connection: Connection): Promise<KeyRow[]> {
  return connection.run(() => connection.drizzle.select().from(key).execute());
}

export async function savePools(
  connection: Connection,
  rows: readonly PoolRow[],
  { saved, removed }: KeyChanges = NO_KEYS,
): Promise<void> {
  const statements = [
    ...inParts(rows).map((part) => upsertPools(connection, part)),
    ...(removed.length === 0 ? [] : [deleteKeys(removed)]),
    ...inParts(saved).map((part) => upsertKeys(connection, part)),
  ];
  if (statements.length > 0) await connection.write(statements);
}

function upsertPools({ drizzle }: Connection, rows: PoolRow[]): InStatement {
  return statement(
    drizzle.insert(pool).values(rows).onConflictDoUpdate({
      target: pool.name,
      set: {
        settings: sql`excluded.settings`,
        createdAt: sql`excluded.created_at`,
        pause: sql`excluded.pause`,
        isManaged: sql`excluded.is_managed`,
      },
    }),
  );
}

export async function removePool(connection: Connection, name: string): Promise<void> {
  const { drizzle } = connection;
  await connection.write([
    statement(drizzle.delete(key).where(eq(key.pool, name))),
    statement(drizzle.delete(governor).where(eq(governor.pool, name))),
    statement(drizzle.delete(governorChange).where(eq(governorChange.pool, name))),
    statement(drizzle.delete(pool).where(eq(pool.name, name))),
  ]);
}

export function saveKeys(connection: Connection, saved: readonly KeyRow[]): Promise<void> {
  return savePools(connection, [], { saved, removed: [] });
}

function upsertKeys({ drizzle }: Connection, rows: KeyRow[]): InStatement {
  return statement(
    drizzle.insert(key).values(rows).onConflictDoUpdate({
      target: [key.pool, key.id],
      set: {
        name: sql`excluded.name`,
        hash: sql`excluded.hash`,
        prefix: sql`excluded.prefix`,
        createdAt: sql`excluded.created_at`,
        expiresAt: sql`excluded.expires_at`,
        lastUsedAt: sql`excluded.last_used_at`,
      },
    }),
  );
}

export function removeKey(connection: Connection, of: string, id: string): Promise<void> {
  return savePools(connection, [], { saved: [], removed: [{ pool: of, id }] });
}

function deleteKeys(removed: KeyChanges['removed']): InStatement {
  return {
    sql: `DELETE FROM key WHERE (pool, id) IN
      (SELECT value ->> 0, value ->> 1 FROM json_each(?1))`,
    args: [JSON.stringify(removed.map((row) => [row.pool, row.id]))],
  };
}

export async function touchKeys(
  connection: Connection,
  usedAt: ReadonlyMap<string, number>,
): Promise<void> {
  const { drizzle } = connection;
  await connection.write(
    Array.from(
      usedAt,
      ([id, lastUsedAt]) =>
        statement(drizzle.update(key).set({ lastUsedAt }).where(eq(key.id, id))),
    ),
  );
}

export async function readValue(connection: Connection, name: string): Promise<string | null> {
  const query = connection.drizzle.select().from(value).where(eq(value.name, name));
  const rows = await connection.run(() => query.execute());
  return rows[0]?.value ?? null;
}

export async function saveValue(connection: Connection, name: string, text: string): Promise<void> {
  const query = connection.drizzle.insert(value).values({ name, value: text })
    .onConflictDoUpdate({ target: value.name, set: { value: text } });
  await connection.write([statement(query)]);
}

export function readNonces(connection: Connection): Promise<NonceRow[]> {
  return connection.run(() =>
    connection.drizzle.select().from(nonce).orderBy(nonce.until).execute()
  );
}

export async function pruneNonces(connection: Connection, before: number): Promise<void> {
  await connection.write([
    statement(connection.drizzle.delete(nonce).where(lt(nonce.until, before))),
  ]);
}

/** The rows, cut so that each part fits into one statement. */
function inParts<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / ROWS_A_STATEMENT);
  return Array.from(
    { length: count },
    (_, at) => rows.slice(at * ROWS_A_STATEMENT, (at + 1) * ROWS_A_STATEMENT),
  );
}

interface Built {
  toSQL(): { sql: string; params: unknown[] };
}

/** A built query as the client takes it. */
export function statement(query: Built): InStatement {
  const { sql, params } = query.toSQL();
  return { sql, args: params as (string | number | null)[] };
}
