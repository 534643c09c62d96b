/**
 * `nthbouncer backup FILE`: a consistent copy of the database while the server runs. It opens the
 * database file itself, in a process of its own, so that the server neither waits nor works for it.
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../log.ts';
import { pathOfUrl } from '../store/libsql/file_url.ts';
import { StoreError } from '../store/store.ts';
import type { Command } from './command.ts';
import { EXIT, print, Stop } from './command.ts';
import { mustExist } from './database.ts';
import { withLibrary } from './library.ts';
import type { Shown } from './show.ts';
import { consoleCommand, printJson } from './show.ts';
import { addSettings } from './settings.ts';
import { exitOf } from './store_exit.ts';
import { replaceFile, syncFile } from './sync.ts';

export const backupCommand: Command = {
  add: (program) => {
    const command = consoleCommand(program, 'backup', 'copy the database, while the server runs')
      .argument('<file>', 'must not exist yet')
      .addHelpText('after', '\nThe copy holds the hashes of all keys: keep it as you keep them.');
    addSettings(command, ['db']).action(backup);
  },
};

async function backup(file: string, { db, json }: Shown & { db: string }): Promise<void> {
  const path = fileOf(db, 'backup');
  const target = resolve(file);
  if (existsSync(target)) throw new Stop(EXIT.usage, `${target} exists already`);
  const folder = dirname(target);
  if (!existsSync(folder)) throw new Stop(EXIT.usage, `backup: there is no folder ${folder}`);
  mustExist(path);
  const { copyDatabase } = await withLibrary(() => import('../store/libsql/copy.ts'));
  const { inspectFile } = await withLibrary(() => import('../store/libsql/file.ts'));
  const part = `${target}.part`;
  await Deno.remove(part).catch(() => {});
  try {
    // Closed to others before anything is in it.
    await Deno.writeFile(part, new Uint8Array(), { mode: 0o600, createNew: true });
    await copyDatabase(path, part);
    if (!await inspectFile(part)) throw new StoreError('foreign', `${path} holds no data of ours.`);
    await syncFile(part);
    await replaceFile(part, target);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    const exit = error instanceof StoreError ? exitOf(error) : EXIT.failed;
    // What the runtime says ends with its own name for the step.
    const why = messageOf(error).replace(/: \w+ '.*'$/, '');
    throw new Stop(exit, `no backup was made in ${folder}: ${why}`);
  }
  const { size } = await Deno.stat(target);
  if (json) return printJson({ file: target, bytes: size });
  print(`${target}: ${size} bytes`);
}

/** The path of a database in a file. @throws Stop for a remote one. */
export function fileOf(db: string, command: string): string {
  if (/^file:/i.test(db)) return pathOfUrl(db);
  const why = 'a remote database has backups of its own';
  throw new Stop(EXIT.usage, `${command}: --db must be a file: URL; ${why}`);
}
