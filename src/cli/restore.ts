/**
 * `nthbouncer restore FILE`: puts a backup in the place of the database, which no server may use
 * meanwhile. What was there before is kept beside it. Nothing is touched before the backup is known
 * to be sound, and at no moment is there neither the old database nor the new one.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { messageOf } from '../log.ts';
import { fileIdAt } from '../store/libsql/file_id.ts';
import { StoreError } from '../store/store.ts';
import { fileOf } from './backup.ts';
import type { Command } from './command.ts';
import { EXIT, print, Stop } from './command.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson } from './show.ts';
import { lockFile } from './file_lock.ts';
import { withLibrary } from './library.ts';
import { addSettings } from './settings.ts';
import { keepOwner, replaceFile, syncFile } from './sync.ts';

type Files = typeof import('../store/libsql/file.ts');

export const restoreCommand: Command = {
  add: (program) => {
    const command = consoleCommand(program, 'restore', 'put a backup in place of the database')
      .argument('<file>', 'what `backup` made')
      .addHelpText('after', '\nThe server must be stopped. The database that was there is kept.');
    addSettings(command, ['db']).action(restore);
  },
};

async function restore(file: string, { db, json }: Shown & { db: string }): Promise<void> {
  const path = fileOf(db, 'restore');
  const source = resolve(file);
  if (!existsSync(source)) throw new Stop(EXIT.database, `there is no file ${source}`);
  if (fileIdAt(source) === fileIdAt(path)) {
    throw new Stop(EXIT.usage, `restore: ${source} is the database itself; a backup is wanted`);
  }
  const { createFolder, ...files } = await withLibrary(() => import('../store/libsql/file.ts'));
  const came = await notBackup(source, files);
  if (came !== null) {
    const wanted = 'a copy that `nthbouncer backup` made is wanted';
    throw new Stop(EXIT.database, `${source} cannot be restored: ${wanted}, and it is ${came}`);
  }
  createFolder(path);
  if (!await lockFile(`${path}-lock`)) {
    throw new Stop(EXIT.owned, `a server is running on ${path}; stop it first`);
  }
  const kept = existsSync(path) ? await keptName(path) : null;
  try {
    await replace(path, source, kept);
  } catch (error) {
    await Deno.remove(partOf(path)).catch(() => {});
    throw new Stop(EXIT.failed, `not restored: ${messageOf(error)}`);
  }
  if (json) return printJson({ database: path, kept });
  print(`restored ${path}`);
  if (kept !== null) print(`the database that was there: ${kept}`);
}

/** What the file is instead; null where it is a backup. */
async function notBackup(
  source: string,
  { hasLog, inspectFile, isSqlite }: Pick<Files, 'hasLog' | 'inspectFile' | 'isSqlite'>,
): Promise<string | null> {
  const { isFile, size } = await Deno.stat(source);
  if (!isFile) return 'no plain file';
  if (size === 0) return 'empty';
  if (!isSqlite(source)) return 'no SQLite database';
  if (hasLog(source)) return 'a database of which a part is in the log beside it';
  try {
    return await inspectFile(source) ? null : 'a database without any data';
  } catch (error) {
    const kind = error instanceof StoreError ? error.kind : null;
    if (kind === 'damaged') return 'a damaged database';
    if (kind === 'foreign') return 'a database of another program';
    throw new Stop(EXIT.database, `${source} cannot be restored: ${messageOf(error)}`);
  }
}

/** Where the copy is made, before it takes the database's name. */
function partOf(path: string): string {
  return `${path}.restore-part`;
}

async function replace(path: string, source: string, kept: string | null): Promise<void> {
  const part = partOf(path);
  await Deno.copyFile(source, part);
  await Deno.chmod(part, 0o600);
  await keepOwner(part, path);
  await syncFile(part);
  if (kept !== null) await Deno.link(path, kept);
  for (const suffix of ['-wal', '-shm']) {
    if (!existsSync(`${path}${suffix}`)) continue;
    if (kept === null) await Deno.remove(`${path}${suffix}`);
    else await Deno.rename(`${path}${suffix}`, `${kept}${suffix}`);
  }
  await replaceFile(part, path);
}

/** A name that is free; numbers rather than times, so that it needs no clock. */
async function keptName(path: string): Promise<string> {
  for (let number = 1;; number++) {
    const name = `${path}.before-restore-${number}`;
    if (!await Deno.lstat(name).then(() => true, () => false)) return name;
  }
}
