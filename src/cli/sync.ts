/**
 * Makes files and their names last through a loss of power. A name is durable only once its folder
 * is, which not every system lets a program ask for.
 */
import { dirname } from 'node:path';

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
