/**
 * Brings the schema of a database up to date with the committed migrations, through drizzle's own
 * migrator. A database that knows a migration which this program does not is left alone.
 */
import { fileURLToPath } from 'node:url';
import type { Client } from '@libsql/client';
import { getTableName, is } from 'drizzle-orm';
import { migrate } from 'drizzle-orm/libsql/migrator';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as schema from '../../../db/schema.ts';
import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';

/** Read through node:fs, which finds the folder inside a compiled binary too. */
const migrationsFolder = fileURLToPath(new URL('../../../db/migrations', import.meta.url));

const TABLES = Object.values(schema).filter((one) => is(one, SQLiteTable)).map(getTableName);

/** The hashes of the migrations that a database has, and of all its tables the names. */
export interface SchemaFound {
  readonly tables: readonly string[];
  readonly hashes: readonly string[];
}

export async function readSchema(client: Pick<Client, 'execute'>): Promise<SchemaFound> {
  const named = await client.execute(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  const tables = named.rows.map(({ name }) => String(name));
  if (!tables.includes('__drizzle_migrations')) return { tables, hashes: [] };
  const { rows } = await client.execute('SELECT hash FROM __drizzle_migrations');
  return { tables, hashes: rows.map(({ hash }) => String(hash)) };
}

/** How many migrations are missing. @throws StoreError `newer_schema`, `foreign` or `damaged` */
export function missingMigrations(found: SchemaFound, where: string): number {
  const known = readMigrationFiles({ migrationsFolder }).map(({ hash }) => hash);
  if (found.hashes.some((hash) => !known.includes(hash))) {
    throw new StoreError(
      'newer_schema',
      `The database ${where} was written by a newer version of this program; ` +
        'start that version, or restore a backup from before the update.',
    );
  }
  if (found.hashes.length === 0 && found.tables.some((name) => !isOwn(name))) {
    throw new StoreError('foreign', `The database ${where} belongs to another program.`);
  }
  const missing = known.length - found.hashes.length;
  const gone = TABLES.find((name) => !found.tables.includes(name));
  if (missing === 0 && gone !== undefined) {
    throw new StoreError(
      'damaged',
      `The database ${where} lacks its table "${gone}"; it was left as it is. Restore a backup.`,
    );
  }
  return missing;
}

/** Runs what is missing; true where the database was new. */
export async function migrateSchema(connection: Connection, where: string): Promise<boolean> {
  const found = await connection.run(readSchema);
  if (missingMigrations(found, where) > 0) {
    await connection.run(() => migrate(connection.drizzle, { migrationsFolder }));
  }
  return found.hashes.length === 0;
}

/** Tables that are there before the first migration has run to its end. */
function isOwn(table: string): boolean {
  return table === '__drizzle_migrations' || table.startsWith('sqlite_') ||
    table.startsWith('libsql_');
}
