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

export function answerHeaders({ headers, own, baseDomain }: AnswerParts): [string, string][] {
  const lines: [string, string][] = Object.entries(own);
  let connection: string | null = null;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (lower === 'connection') connection = connection === null ? value : `${connection},${value}`;
    if (HOP_BY_HOP.has(lower) || lower.startsWith('x-nthpool-')) continue;
    if (lower === 'set-cookie' && isOwnCookie(value, baseDomain)) continue;
    lines.push([lower, value]);
  }
  const named = namedBy(connection);
  return named === null ? lines : lines.filter(([name]) => !named.has(name));
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
