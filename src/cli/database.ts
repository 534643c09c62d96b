/**
 * Opens the database that a command names, and says in one line what is wrong with it.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Snapshot, Store } from '../store/store.ts';
import { pathOfUrl } from '../store/libsql/file_url.ts';
import { StoreError } from '../store/store.ts';
import type { StoreOptions } from '../store/stores.ts';
import { EXIT, Stop } from './command.ts';
import { lockFile } from './file_lock.ts';
import { withLibrary } from './library.ts';
import { oneWord } from './one_word.ts';
import { exitOf } from './store_exit.ts';

/** A lock that is held longer than this at the start ends the start: 5 s. */
const BUSY_TRIES = 50;
const BUSY_WAIT_MS = 100;

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

export interface Database {
  readonly store: Store;
  readonly snapshot: Snapshot;
}

/** Whom the store tells of what it finds. */
type Hooks = Pick<StoreOptions, 'admit' | 'lost'>;

/** Makes the database where there is none. */
export async function openDatabase(url: string, hooks: Hooks = {}): Promise<Database> {
  const authToken = oneWord(Deno.env.get('NTHBOUNCER_DB_TOKEN'), 'NTHBOUNCER_DB_TOKEN');
  const { storeFor } = await withLibrary(() => import('../store/stores.ts'));
  try {
    const store = storeFor({
      url,
      ...(authToken === null ? {} : { authToken }),
      owner: crypto.randomUUID(),
      lock: lockFile,
      sleep,
      ...hooks,
    });
    if (store === null) throw new Stop(EXIT.usage, '--db: no store knows a URL of this kind');
    return { store, snapshot: await patiently(() => store.open()) };
  } catch (error) {
    throw stopOf(error);
  }
}

/** For what makes sense only where a server has been: makes nothing. */
export async function openKnownDatabase(url: string, hooks?: Hooks): Promise<Database> {
  if (/^file:/i.test(url)) mustExist(localPath(url));
  return await openDatabase(url, hooks);
}

/** @throws Stop where there is no database at the path */
export function mustExist(path: string): void {
  if (!existsSync(path)) throw new Stop(EXIT.database, `there is no database ${path}`);
}

function localPath(url: string): string {
  try {
    return pathOfUrl(url);
  } catch (error) {
    throw stopOf(error);
  }
}

function stopOf(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const hint = error.kind === 'owned' ? '; stop it, or name another with --db' : '';
  return new Stop(exitOf(error), error.message + hint);
}

/** Waits out a lock that another process, a backup say, holds for a moment. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      const isBusy = error instanceof StoreError && error.kind === 'busy';
      if (!isBusy || tries >= BUSY_TRIES) throw error;
      await sleep(BUSY_WAIT_MS);
    }
  }
}

/** The folder of a local database, absolute; null for a remote one. */
export function databaseFolder(url: string): string | null {
  return url.startsWith('file:') ? dirname(pathOfUrl(url)) : null;
}
