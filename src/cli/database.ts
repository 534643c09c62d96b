/**
 * Opens the database that a command names, and says in one line what is wrong with it.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot, Store } from '../store/store.ts';
import { StoreError } from '../store/store.ts';
import { storeFor } from '../store/stores.ts';
import { EXIT, Stop } from './command.ts';
import { lockFile } from './file_lock.ts';

export interface Database {
  readonly store: Store;
  readonly snapshot: Snapshot;
}

export async function openDatabase(url: string): Promise<Database> {
  const authToken = Deno.env.get('NTHBOUNCER_DB_TOKEN');
  const store = storeFor({
    url,
    ...(authToken === undefined ? {} : { authToken }),
    owner: crypto.randomUUID(),
    lock: lockFile,
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
  });
  if (store === null) throw new Stop(EXIT.usage, `--db: no store knows the URL ${url}`);
  try {
    return { store, snapshot: await store.open() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new Stop(error.kind === 'owned' ? EXIT.owned : EXIT.database, error.message);
  }
}

/** The folder of a local database; null for a remote one. */
export function databaseFolder(url: string): string | null {
  if (!url.startsWith('file:')) return null;
  return dirname(url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length));
}
