/**
 * The pool-key policy: which of a request's headers carry a key, and whether every key that is
 * presented is one of the pool's. A wrong key fails the request even beside a right one, and even
 * where no key is required.
 */
import { Buffer } from 'node:buffer';
import type { AccessSpec } from '../wire_access.ts';
import type { RequestHeaders } from './header_source.ts';
import type { KeyRing } from './keys.ts';
import { KEY_PREFIX } from './keys.ts';
import type { PolicyKind, PolicyVerdict } from './policy.ts';
import { PASS } from './policy.ts';

type KeySettings = AccessSpec['key'];

interface Presented {
  readonly key: string;
  /** The header that carried it. */
  readonly carrier: string;
}

/** A tab is no separator: what follows it is a key, and a wrong one. */
const SCHEME = /^([A-Za-z]+)(?: +(\S.*)|(?= *\t)(.*))?$/;
/** A second line of the same header that somebody on the way has joined to the first. */
const REPEATED = /,[ \t]*(?:nthbouncer|bearer|basic)(?:[ \t]|$)/i;
/** In place of what holds a key, but is none. */
const WRONG_KEY = '';
const WRONG: PolicyVerdict = { kind: 'fail', reason: 'key: wrong' };
const MISSING: PolicyVerdict = { kind: 'fail', reason: 'key: missing' };
const TWICE: PolicyVerdict = { kind: 'fail', reason: 'key: authorization repeated' };

export const keyPolicy: PolicyKind = {
  name: 'key',
  make: ({ spec, keys }, { epochMs }) => {
    const settings = spec.access.key;
    return { judge: ({ headers }) => judgeKey(keys, settings, { headers, epochMs }) };
  },
};

/** Judges by the keys that the headers present. */
function judgeKey(
  ring: KeyRing,
  settings: KeySettings,
  request: { headers: RequestHeaders; epochMs: () => number },
): PolicyVerdict {
  const authorization = request.headers.get('authorization');
  if (authorization !== null && isTwice(request.headers, authorization)) return TWICE;
  const presented = presentedKeys(settings, request.headers, authorization);
  let keyId: string | null = null;
  for (const { key } of presented) {
    const row = ring.find(key, request.epochMs);
    if (row === undefined) return WRONG;
    keyId ??= row.id;
  }
  if (keyId === null) {
    if (!settings.required) return PASS;
    // The same work as for a wrong key.
    ring.find('', request.epochMs);
    return MISSING;
  }
  const carriers = presented.map(({ carrier }) => carrier);
  return { kind: 'pass', keyId, carriers, isProven: true };
}

/** Lines of one header come joined by a comma, so whatever has none came in one. */
function isTwice(headers: RequestHeaders, authorization: string): boolean {
  return authorization.includes(',') &&
    (headers.isRepeated('authorization') || REPEATED.test(authorization));
}

/** Every value that is taken as a key; so is that of a header that repeats, and it is wrong. */
function presentedKeys(
  settings: KeySettings,
  headers: RequestHeaders,
  authorization: string | null,
): Presented[] {
  const presented: Presented[] = [];
  const own = headers.get('x-nthpool-key');
  if (own !== null) presented.push({ key: own, carrier: 'x-nthpool-key' });
  if (authorization !== null) {
    const key = authorizationKey(settings, authorization);
    if (key !== null) presented.push({ key, carrier: 'authorization' });
  }
  for (const carrier of settings.headers) {
    const key = headers.get(carrier);
    if (key === null) continue;
    const isKey = key.startsWith(KEY_PREFIX) || key.includes(`, ${KEY_PREFIX}`);
    if (isKey || key.includes(',') && headers.isRepeated(carrier)) presented.push({ key, carrier });
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
    case 'Basic':
      return basicKey(credentials);
  }
}

/** The password where it is a key; one that is not all of one base64 token is a wrong key. */
function basicKey(credentials: string): string | null {
  const bytes = Buffer.from(credentials, 'base64');
  const text = bytes.toString('latin1');
  const password = text.slice(text.indexOf(':') + 1);
  if (!password.startsWith(KEY_PREFIX)) return null;
  // The decoder skips what is not base64, and stops at the padding.
  return bytes.toString('base64') === credentials ? password : WRONG_KEY;
}
