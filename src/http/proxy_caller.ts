/**
 * Who calls a pool by the proxy door, and which of its headers said so: those are taken out of what
 * is forwarded. The one place in which the proxy asks the access policies.
 */
import { judgeKey } from '../access/key_policy.ts';
import { KEY_PREFIX } from '../access/keys.ts';
import type { Entry } from '../scheduler/directory.ts';

export type ProxyCaller =
  | { readonly kind: 'pass'; readonly keyId: string | null; readonly carriers: Carriers }
  | { readonly kind: 'fail'; readonly reason: string };

/** Header names, lower case. */
export type Carriers = ReadonlySet<string>;

const NONE: Carriers = new Set();

export function proxyCaller(entry: Entry, headers: Headers, epochMs: () => number): ProxyCaller {
  const settings = entry.spec.access.key;
  const judgement = judgeKey(entry.keys, settings, { headers, epochMs });
  if (judgement.kind === 'fail') return judgement;
  return { kind: 'pass', keyId: judgement.keyId, carriers: carriersOf(settings, headers) };
}

function carriersOf(settings: Entry['spec']['access']['key'], headers: Headers): Carriers {
  const names = settings.headers.filter((name) => headers.get(name)?.startsWith(KEY_PREFIX));
  if (carriesKey(settings.authorization, headers.get('authorization'))) {
    names.push('authorization');
  }
  return names.length === 0 ? NONE : new Set(names);
}

function carriesKey(schemes: readonly string[], authorization: string | null): boolean {
  if (authorization === null) return false;
  const [scheme = '', value = ''] = authorization.split(/ +/, 2);
  const name = scheme.toLowerCase();
  if (!schemes.some((listed) => listed.toLowerCase() === name)) return false;
  if (name === 'nthbouncer') return true;
  const text = name === 'basic' ? basicPassword(value) : value;
  return text.startsWith(KEY_PREFIX);
}

function basicPassword(value: string): string {
  try {
    const text = atob(value);
    return text.slice(text.indexOf(':') + 1);
  } catch {
    return '';
  }
}
