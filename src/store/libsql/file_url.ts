/** The `file:` URL of a database, and the path in it. */
import { readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf, storeError } from './store_error.ts';

/**
 * The path in a `file:` URL, absolute. Links are followed: what lies beside a database, its log,
 * its lock and its keys, has one place whatever name it is opened by.
 */
export function pathOfUrl(url: string): string {
  const [path = ''] = url.replace(/^file:/i, '').split(/[?#]/);
  try {
    return realPath(resolve(decodeURIComponent(path.replace(/^\/\/[^/]*/, ''))));
  } catch (error) {
    throw storeError(error);
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // Whoever opens the file tells what else is wrong with its path.
    if (codeOf(error) !== 'ENOENT') return path;
  }
  let target: string;
  try {
    target = readlinkSync(path);
  } catch {
    return path;
  }
  // A link to a file that is still to be made.
  return realPath(resolve(realpathSync(dirname(path)), target));
}

export function urlOfPath(path: string): string {
  return `file:${encodePath(path)}`;
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
