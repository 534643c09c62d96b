/**
 * The page's session in a request: its cookie, and what a write by it must bring along.
 */
import { timingSafeEqual } from 'node:crypto';
import { Buffer } from 'node:buffer';
import type { Server } from './server.ts';
import { steadyEpochMs } from './server.ts';

export const WRITE_TOKEN_HEADER = 'x-nthbouncer-write-token';

/** The beginning of a cookie, in a request or in an answer, that is a session of the page. */
export const SESSION_COOKIE = /^\s*(?:__Host-)?nthbouncer\s*=/;

/** Under TLS the browser itself sees to it that no other host set the cookie. */
export function cookieName(request: Request): string {
  return isTls(request) ? '__Host-nthbouncer' : 'nthbouncer';
}

/** The cookie that begins a session; null ends it. */
export function sessionCookie(request: Request, id: string | null): string {
  const secure = isTls(request) ? '; Secure' : '';
  const age = id === null ? '; Max-Age=0' : '';
  return `${cookieName(request)}=${id ?? ''}; Path=/; HttpOnly; SameSite=Strict${secure}${age}`;
}

/** The id of the live session that the request belongs to. */
export function sessionOf(request: Request, server: Server): string | null {
  const name = cookieName(request);
  for (const pair of (request.headers.get('cookie') ?? '').split(/; */)) {
    if (!pair.startsWith(`${name}=`)) continue;
    const id = pair.slice(name.length + 1);
    return server.desk.sessions.isOpen(id, steadyEpochMs(server)) ? id : null;
  }
  return null;
}

/** Whether the session in the request may do what is asked; this counts as use. */
export function sessionMayPass(request: Request, server: Server): boolean {
  const id = sessionOf(request, server);
  if (id === null) return false;
  if (request.method !== 'GET') {
    const token = Buffer.from(request.headers.get(WRITE_TOKEN_HEADER) ?? '');
    const wanted = Buffer.from(server.desk.sessions.writeToken(id));
    if (token.length !== wanted.length || !timingSafeEqual(token, wanted)) return false;
    if (!isOwnOrigin(request)) return false;
  }
  return server.desk.sessions.touch(id, steadyEpochMs(server));
}

/** Whether the browser says that a page of this very host sent the request. */
export function isOwnOrigin(request: Request): boolean {
  const origin = request.headers.get('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}

function isTls(request: Request): boolean {
  return request.url.startsWith('https:');
}
