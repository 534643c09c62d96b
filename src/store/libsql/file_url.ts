/** The `file:` URL of a database, and the path in it. */
import { resolve } from 'node:path';
import { storeError } from './store_error.ts';

/** The path in a `file:` URL, absolute. */
export function pathOfUrl(url: string): string {
  const [path = ''] = url.replace(/^file:/i, '').split(/[?#]/);
  try {
    return resolve(decodeURIComponent(path.replace(/^\/\/[^/]*/, '')));
  } catch (error) {
    throw storeError(error);
  }
}

export function urlOfPath(path: string): string {
  return `file:${encodePath(path)}`;
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
