/**
 * A consistent copy of a database file, made while a server uses it: a reader's snapshot, written
 * to another file. It takes no lock that a writer would wait for, and changes nothing. It must run
 * in a process that has not opened the database otherwise (see `file.ts`).
 */
import { type Client, createClient } from '@libsql/client';
import { storeError } from './store_error.ts';
import { damagedError, isDamage } from './file.ts';
import { urlOfPath } from './file_url.ts';

const BUSY_WAIT_MS = 5_000;

/** @throws StoreError; the target must not exist. */
export async function copyDatabase(path: string, target: string): Promise<void> {
  let client: Client | null = null;
  try {
    // The client knows no such option, but hands a path that is a URI itself on to SQLite.
    const uri = `${urlOfPath(path)}?mode=ro`;
    client = createClient({
      url: `file:${encodeURIComponent(uri)}`,
      concurrency: 1,
      timeout: BUSY_WAIT_MS,
    });
    await client.execute({ sql: 'VACUUM INTO ?1', args: [target] });
  } catch (error) {
    throw isDamage(error) ? damagedError(path, error) : storeError(error);
  } finally {
    client?.close();
  }
}
