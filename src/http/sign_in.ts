/**
 * Signing in with the admin token, and out. A failure costs the address one of its five tries a
 * minute; whether a token was near tells nothing. What another page sends costs no try, or any page
 * could lock its visitors out, and its answer tells nothing of the token.
 */
import type { Context } from 'hono';
import { hashOf } from '../access/keys.ts';
import { isSameSecretHash } from '../access/secret.ts';
import { FaultPage, SignedOut, SignIn } from '../admin/layout.tsx';
import { readBody } from './body.ts';
import { goTo, pageAnswer, pieceAnswer } from './page_answer.ts';
import type { Peer, Server } from './server.ts';
import { steadyEpochMs } from './server.ts';
import { isOwnOrigin, sessionCookie, sessionOf } from './session.ts';

const TOKEN_BYTES_MAX = 4096;
const WITHOUT_SCRIPT =
  'This form was sent without the page’s script, which was not loaded yet or ' +
  'may not run: go back, load the page again with JavaScript switched on, and send it anew.';
const NOT_OWN_PAGE = 'This form was not sent by this page: its Origin is another, or is missing.';

/** Pages that a sign-in may lead to: paths of our own, also with a query. */
const OWN_PAGE = /^\/admin(?:[/?][!-~]{0,2000})?$/;

/** Where the visitor was going. */
function askedPage(context: Context): string {
  const asked = context.req.query('to') ?? '';
  return OWN_PAGE.test(asked) ? asked : '/admin';
}

export function showSignIn(context: Context): Promise<Response> {
  return pageAnswer(context, SignIn({ problem: null }));
}

/**
 * For whoever is not signed in, or no more: a form keeps what was typed into it. One that came by
 * itself lacks the token that the script sends along, and is told so.
 */
export function askToSignIn(context: Context, server: Server): Response | Promise<Response> {
  const { method, path, raw } = context.req;
  const isForm = method === 'POST' && path !== '/admin/sign-out';
  const isByScript = context.req.header('hx-request') !== undefined;
  if (isForm && isByScript) return pieceAnswer(context, SignedOut());
  const id = sessionOf(raw, server);
  if (method === 'GET') return goTo(context, signInFor(raw));
  if (!isForm || id === null) return goTo(context, '/admin/sign-in');
  const page = { title: 'Nothing was done', writeToken: server.desk.sessions.writeToken(id) };
  return pageAnswer(context, FaultPage({ page, message: WITHOUT_SCRIPT }), 403);
}

/** The way to the sign-in that leads back to what was asked for. */
function signInFor({ url }: Request): string {
  const { pathname, search } = new URL(url);
  const asked = `${pathname}${search}`;
  return asked === '/admin' ? '/admin/sign-in' : `/admin/sign-in?to=${encodeURIComponent(asked)}`;
}

export async function signIn(context: Context, server: Server): Promise<Response> {
  const { raw } = context.req;
  const { failedLogins, sessions } = server.desk;
  const { peer } = context.env as { readonly peer: Peer };
  const address = server.access.addresses.read(peer, raw.headers).text ?? '';
  // A foreign page may neither sign in nor use up the tries of whoever looks at it.
  if (!isOwnOrigin(raw)) return pageAnswer(context, SignIn({ problem: NOT_OWN_PAGE }), 403);
  const body = await readBody(raw, { bytesMax: TOKEN_BYTES_MAX, deadlines: server.deadlines });
  // From here on nothing is waited for, so that tries that come at once are counted one by one.
  const nowMs = server.scheduler.clock.nowMs();
  const waitMs = failedLogins.waitMs(address, nowMs);
  if (waitMs > 0) {
    const problem = `Too many tries. Try again in ${Math.ceil(waitMs / 1000)} s.`;
    return pageAnswer(context, SignIn({ problem }), 429);
  }
  const text = body.kind === 'bytes' ? new TextDecoder().decode(body.bytes) : '';
  const token = new URLSearchParams(text).get('token')?.trim() ?? '';
  if (!isSameSecretHash(hashOf(token), server.adminHash)) {
    failedLogins.note(address, nowMs);
    return pageAnswer(context, SignIn({ problem: 'This is not the admin token.' }), 401);
  }
  const id = await sessions.open(steadyEpochMs(server));
  context.header('set-cookie', sessionCookie(raw, id));
  return goTo(context, askedPage(context));
}

export async function signOut(context: Context, server: Server): Promise<Response> {
  const { raw } = context.req;
  const id = sessionOf(raw, server);
  if (id !== null) {
    const closing = server.desk.sessions.close(id);
    server.desk.watch.recheck(server);
    await closing;
  }
  context.header('set-cookie', sessionCookie(raw, null));
  return goTo(context, '/admin/sign-in');
}
