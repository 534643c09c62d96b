/**
 * Opens the database that a command names, and says in one line what is wrong with it.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot, Store } from '../store/store.ts';
import { StoreError } from '../store/store.ts';
import { makeStore } from '../store/stores.ts';
import { EXIT, Stop } from './command.ts';
import { lockFile } from './file_lock.ts';

export interface Database {
  readonly store: Store;
  readonly snapshot: Snapshot;
}

export async function openDatabase(url: string): Promise<Database> {
  const store = makeStore(url, { lock: lockFile });
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
