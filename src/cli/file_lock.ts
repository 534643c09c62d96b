/**
 * The lock that makes one process the owner of a local database: an operating system's lock on a
 * file beside it. It ends with the process, however that ends, so a restart after kill -9 need not
 * wait for anything.
 */
import { messageOf } from '../log.ts';
import { storeError } from '../store/libsql/store_error.ts';
import { Stop } from './command.ts';
import { exitOf } from './store_exit.ts';
import { keepOwner } from './sync.ts';

const PATIENCE_MS = 500;

/** What this process holds: an attempt to open that failed later is made again under its lock. */
const held = new Set<string>();

/**
 * Takes the lock for the life of the process; false where another process holds it.
 * @throws Stop where this user may not open its file.
 */
export async function lockFile(path: string): Promise<boolean> {
  if (held.has(path)) return true;
  const file = await Deno.open(path, { create: true, write: true, mode: 0o600 }).catch((error) => {
    // What it says ends with the path.
    const why = messageOf(error).replace(/: open '.*$/, '');
    const exit = exitOf(storeError(error));
    throw new Stop(exit, `the lock of the database, ${path}, cannot be opened: ${why}`);
  });
  await keepOwner(path, path, path.replace(/-lock$/, ''));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS);
  });
  const isHeld = await Promise.race([file.lock(true).then(() => true), late]);
  clearTimeout(timer);
  // The file stays open: closing it would give the lock back.
  if (isHeld) held.add(path);
  else file.close();
  return isHeld;
}
