/**
 * The pool-key policy: which of a request's headers carry a key, and whether every key that is
 * presented is one of the pool's. A wrong key fails the request even beside a right one, and even
 * where no key is required.
 */
import { Buffer } from 'node:buffer';
import type { KeyRing } from './keys.ts';
import { KEY_PREFIX } from './keys.ts';

export interface KeySettings {
  readonly required: boolean;
  readonly authorization: readonly ('Nthbouncer' | 'Bearer' | 'Basic')[];
  /** Further header names, in lower case. */
  readonly headers: readonly string[];
}

export type Judgement =
  | { readonly kind: 'pass'; readonly keyId: string | null }
  | { readonly kind: 'fail'; readonly reason: string };

export interface HeaderSource {
  get(name: string): string | null;
}

const SCHEME = /^([A-Za-z]+)(?: +(\S.*))?$/;

/** Judges by the keys that the headers present. */
export function judgeKey(
  ring: KeyRing,
  settings: KeySettings,
  request: { headers: HeaderSource; epochMs: () => number },
): Judgement {
  const presented = presentedKeys(settings, request.headers);
  let keyId: string | null = null;
  for (const key of presented) {
    const row = ring.find(key, request.epochMs);
    if (row === undefined) return { kind: 'fail', reason: 'key: wrong' };
    keyId ??= row.id;
  }
  if (keyId === null && settings.required) return { kind: 'fail', reason: 'key: missing' };
  return { kind: 'pass', keyId };
}

/** Every value that is taken as a key. A repeated header comes joined by a comma, and fails. */
function presentedKeys(settings: KeySettings, headers: HeaderSource): string[] {
  const presented: string[] = [];
  const own = headers.get('x-nthpool-key');
  if (own !== null) presented.push(own);
  const authorization = headers.get('authorization');
  if (authorization !== null) {
    const key = authorizationKey(settings, authorization);
    if (key !== null) presented.push(key);
  }
  for (const name of settings.headers) {
    const value = headers.get(name);
    if (value?.startsWith(KEY_PREFIX)) presented.push(value);
  }
  return presented;
}

/** The key in an Authorization value; null where its scheme is not listed or it is no key. */
function authorizationKey(settings: KeySettings, value: string): string | null {
  const [, scheme = '', credentials = ''] = SCHEME.exec(value) ?? [];
  const name = scheme.toLowerCase();
  const listed = settings.authorization.find((each) => each.toLowerCase() === name);
  switch (listed) {
    case undefined:
      return null;
    case 'Nthbouncer':
      return credentials;
    case 'Bearer':
      return credentials.startsWith(KEY_PREFIX) ? credentials : null;
    case 'Basic': {
      const password = basicPassword(credentials);
      return password.startsWith(KEY_PREFIX) ? password : null;
    }
  }
}

function basicPassword(credentials: string): string {
  const text = Buffer.from(credentials, 'base64').toString('latin1');
  return text.slice(text.indexOf(':') + 1);
}
