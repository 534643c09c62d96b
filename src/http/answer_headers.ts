/**
 * The headers of a forwarded answer as the caller gets them: the upstream's, less those of its
 * connection, those that could pass for ours, and those that hold the credential which the request
 * carried, with the pool's own. Repeated ones stay repeated.
 */
import { headerLine } from '../http1/answer.ts';
import { isLength } from '../http1/head.ts';
import type { HeaderLines } from '../http1/header_lines.ts';
import type { CarriedSecrets } from './carried_secrets.ts';
import { HOP_BY_HOP } from './request_head.ts';
import { SESSION_COOKIE } from './session.ts';

export interface AnswerParts {
  readonly headers: HeaderLines;
  /** Ours, as whole lines. */
  readonly own: string;
  readonly baseDomain: string;
  /** What the request carried to the upstream, for it alone. */
  readonly secrets: CarriedSecrets;
  /** Whether the length is told although no body follows. */
  readonly isLengthKept: boolean;
}

const COOKIE_DOMAIN = /;\s*domain\s*=\s*"?\.?([^;"\s]*)/gi;

/** The headers as they are sent. */
export function answerHeaders(parts: AnswerParts): string {
  const { headers, own, baseDomain, secrets, isLengthKept } = parts;
  let text = own;
  const named = headers.words('connection');
  headers.forEach((value, name, asCame) => {
    if (HOP_BY_HOP.has(name) || name.startsWith('x-nthpool-') || named.includes(name)) return;
    if (name === 'set-cookie' && isOwnCookie(value, baseDomain)) return;
    if (name === 'content-length' && !(isLengthKept && isLength(value))) return;
    if (secrets.areIn(value)) return;
    text += headerLine([asCame, value]);
  });
  return text;
}

/** A cookie that would be sent to our page, or to other pools, too. */
function isOwnCookie(value: string, baseDomain: string): boolean {
  if (SESSION_COOKIE.test(value)) return true;
  if (!/domain/i.test(value)) return false;
  return [...value.matchAll(COOKIE_DOMAIN)].some(([, domain = '']) => {
    const lower = domain.toLowerCase().replace(/\.$/, '');
    return lower !== '' && (lower === baseDomain || baseDomain.endsWith(`.${lower}`));
  });
}
