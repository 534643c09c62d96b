/**
 * The headers of a forwarded answer as the caller gets them: the upstream's, less those of its
 * connection and those that could pass for ours, with the pool's own. Repeated ones stay repeated.
 */
import type { HeaderLine } from '../upstream/forward/head.ts';
import { HOP_BY_HOP, namedBy } from './request_head.ts';

export interface AnswerParts {
  readonly headers: readonly HeaderLine[];
  /** Ours. */
  readonly own: Readonly<Record<string, string>>;
  readonly baseDomain: string;
}

const OWN_COOKIE = /^\s*(__Host-)?nthbouncer[\w-]*\s*=/;
const COOKIE_DOMAIN = /;\s*domain\s*=\s*"?\.?([^;"\s]*)/gi;

/** Appends to the headers of a fresh response: handing them to its constructor costs more. */
export function addHeaders(to: Headers, { headers, own, baseDomain }: AnswerParts): void {
  for (const name in own) to.append(name, own[name] as string);
  const named = connectionNames(headers);
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower.startsWith('x-nthpool-') || named?.has(lower)) continue;
    if (lower === 'set-cookie' && isOwnCookie(value, baseDomain)) continue;
    to.append(lower, value);
  }
}

function connectionNames(headers: readonly HeaderLine[]): ReadonlySet<string> | null {
  let connection: string | null = null;
  for (const [name, value] of headers) {
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    connection = connection === null ? value : `${connection},${value}`;
  }
  return namedBy(connection);
}

/** A cookie that would be sent to our page, or to other pools, too. */
function isOwnCookie(value: string, baseDomain: string): boolean {
  if (OWN_COOKIE.test(value)) return true;
  if (!/domain/i.test(value)) return false;
  return [...value.matchAll(COOKIE_DOMAIN)].some(([, domain = '']) => {
    const lower = domain.toLowerCase();
    return lower !== '' && (lower === baseDomain || baseDomain.endsWith(`.${lower}`));
  });
}
