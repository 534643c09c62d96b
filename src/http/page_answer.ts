/**
 * How the page's answers leave: as HTML that may load nothing but the page's own files and run no
 * inline script, is never stored, and is framed by nobody.
 */
import type { Context } from 'hono';
import type { Child } from 'hono/jsx';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

export async function pageAnswer(context: Context, page: Child, status = 200): Promise<Response> {
  const html = `<!doctype html>${await String(page)}`;
  return context.body(html, status as 200, {
    ...PAGE_HEADERS,
    'content-type': 'text/html; charset=utf-8',
  });
}

/** A piece of a page, for the form that asked. */
export function pieceAnswer(context: Context, piece: Child): Response {
  return context.body(String(piece), 200, {
    ...PAGE_HEADERS,
    'content-type': 'text/html; charset=utf-8',
  });
}

/** Sends the browser elsewhere, by htmx where it asked. */
export function goTo(context: Context, path: string): Response {
  const isHtmx = context.req.header('hx-request') !== undefined;
  const headers = { ...PAGE_HEADERS, ...(isHtmx ? { 'hx-redirect': path } : { location: path }) };
  return context.body(null, isHtmx ? 200 : 303, headers);
}
