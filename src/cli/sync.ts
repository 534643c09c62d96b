/**
 * Makes files and their names last through a loss of power, and keeps them with whom they belong
 * to. A name is durable only once its folder is, which not every system lets a program ask for.
 */
import { lchown } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../log.ts';
import { printError } from './command.ts';

export async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

/** Puts a file, durable already, in the place of another in one step that lasts. */
export async function replaceFile(from: string, path: string): Promise<void> {
  await Deno.rename(from, path);
  if (Deno.build.os === 'windows') return;
  using folder = await Deno.open(dirname(path));
  await folder.sync();
}

/** Puts a text in a file that only its owner reads, whole and durable or not at all. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.new`;
  await Deno.remove(part).catch(() => {});
  await Deno.writeTextFile(part, text, { mode: 0o600, createNew: true });
  await keepOwner(part, path);
  await syncFile(part);
  await replaceFile(part, path);
}

/**
 * Gives a file, which is to stand at the path, to the owner of what stands there or beside it, else
 * to the folder's: a service whose files root writes must be able to read them. Where that fails it
 * is told, but for a user who writes a new file in another's folder.
 */
export async function keepOwner(file: string, path: string, beside = path): Promise<void> {
  const replaced = await Deno.stat(beside).catch(() => null);
  const { uid, gid } = replaced ?? await Deno.stat(dirname(path));
  const own = await Deno.lstat(file);
  if (uid === null || gid === null || own.uid === uid) return;
  try {
    // Of a link that somebody has put in its place meanwhile, the link itself.
    await lchown(file, uid, gid);
  } catch (error) {
    if (replaced === null && own.uid !== 0) return;
    const what = `${path} could not be given to user ${uid}, who cannot read it now`;
    printError(`nthbouncer: ${what}: ${messageOf(error).replace(/, .*/, '')}`);
  }
}
