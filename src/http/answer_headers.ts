/**
 * The headers of a forwarded answer as the caller gets them: the upstream's, less those of its
 * connection and those that could pass for ours, with the pool's own. Repeated ones stay repeated.
 */
import { headerLine } from '../http1/answer.ts';
import { type HeaderLine, listOf } from '../http1/head.ts';
import { HOP_BY_HOP } from './request_head.ts';

export interface AnswerParts {
  readonly headers: readonly HeaderLine[];
  /** Ours, as whole lines. */
  readonly own: string;
  readonly baseDomain: string;
  /** Whether the length is told although no body follows. */
  readonly isLengthKept: boolean;
}

const LENGTH = /^\d{1,15}$/;
const OWN_COOKIE = /^\s*(__Host-)?nthbouncer[\w-]*\s*=/;
const COOKIE_DOMAIN = /;\s*domain\s*=\s*"?\.?([^;"\s]*)/gi;

/** The headers as they are sent. */
export function answerHeaders({ headers, own, baseDomain, isLengthKept }: AnswerParts): string {
  let text = own;
  const named = listOf(headers, 'connection');
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower.startsWith('x-nthpool-') || named.includes(lower)) continue;
    if (lower === 'set-cookie' && isOwnCookie(value, baseDomain)) continue;
    if (lower === 'content-length' && !(isLengthKept && LENGTH.test(value))) continue;
    text += headerLine([name, value]);
  }
  return text;
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
