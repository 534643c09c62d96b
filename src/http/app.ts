/**
 * The door to everything: sorts a request by its host and raw path to the proxy door, the lock door
 * or the routes, checks the access that a route's row names, and turns what was thrown into an
 * answer without a word of the inside.
 */
import { Hono } from 'hono';
import { CEILINGS } from '../ceilings.ts';
import { hashOf } from '../access/keys.ts';
import { isSameSecretHash } from '../access/secret.ts';
import { log, messageOf } from '../log.ts';
import { StoreError } from '../store/store.ts';
import { Fault, faultAnswer, wrongMethodAnswer } from './fault.ts';
import { Hosts } from './hosts.ts';
import { LockDoor } from './locks.ts';
import { ProxyDoor } from './proxy.ts';
import type { Access } from './route.ts';
import { PAGE_ROUTES } from './pages.ts';
import { ROUTES } from './routes.ts';
import type { Peer, Server } from './server.ts';
import { sessionMayPass } from './session.ts';
import { askToSignIn } from './sign_in.ts';

const AT_THE_ROOT = 'There is nothing here; the admin page is at /admin, the API at /docs.';
/** A header's colon, blank and line break. */
const HEADER_OVERHEAD = 4;

export type Fetch = (request: Request, peer: Peer) => Response | Promise<Response>;

/** Makes the request handler of a server. */
export function makeApp(server: Server): Fetch {
  const router = makeRouter(server);
  const locks = new LockDoor(server);
  const proxy = new ProxyDoor(server);
  return makeFetch(server, (request, peer, { pool, target }) => {
    if (pool !== null) return proxy.answer(request, peer, { pool, target, isPoolHost: true });
    const answered = locks.answer(request, peer, target);
    if (answered !== null) return answered;
    if (isHeadTooLarge(request)) return faultAnswer('head_too_large');
    return router.fetch(request, { peer });
  });
}

/** Makes the handler of a listener on which every request is the pool's. */
export function makePoolApp(server: Server, pool: string): Fetch {
  const proxy = new ProxyDoor(server);
  return makeFetch(server, (request, peer, { pool: named, target }) => {
    return proxy.answer(request, peer, { pool, target, isPoolHost: named !== null });
  });
}

type Answer = (
  request: Request,
  peer: Peer,
  /** The pool whose host it is, and the raw path with its query. */
  to: { pool: string | null; target: string },
) => Response | Promise<Response>;

/** Refuses what could be read as two different requests, before it is sorted to a door. */
function makeFetch(server: Server, answer: Answer): Fetch {
  const hosts = new Hosts(server.baseDomain, server.directory.hosts);
  return (request, peer) => {
    try {
      const { url, headers } = request;
      const hostAt = url.indexOf('://') + 3;
      const pathAt = url.indexOf('/', hostAt);
      const authority = url.slice(hostAt, pathAt);
      const host = headers.get('host');
      // CONNECT alone has no path; this server opens no tunnels.
      const isTwofold = pathAt < 0 || !hosts.isSound(authority) ||
        host !== null && !hosts.agree(authority, host) ||
        headers.get('transfer-encoding') !== null && headers.get('content-length') !== null;
      if (isTwofold) return twofoldAnswer();
      return answer(request, peer, { pool: hosts.poolOf(authority), target: url.slice(pathAt) });
    } catch (error) {
      return answerError(error);
    }
  };
}

function twofoldAnswer(): Response {
  return faultAnswer('invalid_request', {
    message: 'The request names two hosts, or no path, or frames its body in two ways.',
    headers: { 'x-nthpool-error': 'invalid_request' },
  });
}

interface Surroundings {
  readonly Bindings: { readonly peer: Peer };
}

function makeRouter(server: Server): Hono<Surroundings> {
  const router = new Hono<Surroundings>();
  const methods = new Map<string, string[]>();
  for (const route of [...ROUTES, ...PAGE_ROUTES]) {
    router.on(route.method, route.path, (context) => {
      const { raw } = context.req;
      if (mayPass(route.access, raw, server)) return route.answer(context, server);
      if (route.access === 'page') return askToSignIn(context);
      return refuseSlowly(server, context.env.peer, raw.headers);
    });
    methods.set(route.path, [...methods.get(route.path) ?? [], route.method]);
  }
  for (const [path, allowed] of methods) {
    router.all(path, () => wrongMethodAnswer(allowed));
  }
  router.notFound(({ req }) =>
    faultAnswer('not_found', req.path === '/' ? { message: AT_THE_ROOT } : {})
  );
  router.onError(answerError);
  return router;
}

/**
 * Asked for all but the lock paths, which read single headers alone; there the runtime's own,
 * larger ceiling holds.
 */
function isHeadTooLarge({ url, headers }: Request): boolean {
  let bytes = url.length;
  for (const [name, value] of headers) bytes += name.length + value.length + HEADER_OVERHEAD;
  return bytes > CEILINGS.headBytes;
}

function mayPass(access: Access, request: Request, server: Server): boolean {
  if (access === 'open') return true;
  const authorization = request.headers.get('authorization');
  // A browser's cookie counts where nothing better was presented.
  if (authorization === null) return sessionMayPass(request, server);
  const [scheme = '', token = '', ...more] = authorization.split(' ');
  if (scheme.toLowerCase() !== 'bearer' || more.length > 0) return false;
  const hash = hashOf(token);
  const { metricsHash } = server.desk;
  const isMetrics = access === 'metrics' && metricsHash !== null &&
    isSameSecretHash(hash, metricsHash);
  return isMetrics || isSameSecretHash(hash, server.adminHash);
}

/** Guesses of the admin token are slowed as those of keys are. */
function refuseSlowly(server: Server, peer: Peer, headers: Headers): Promise<Response> | Response {
  const { access, scheduler: { clock } } = server;
  const address = access.addresses.read(peer, headers).text;
  const delayMs = access.slowdown.delayMs(address, clock.nowMs());
  const answer = () => faultAnswer('unauthorized', { message: 'The admin token is wanted.' });
  if (delayMs === 0) return answer();
  return new Promise((told) => clock.after(delayMs, () => told(answer())));
}

function answerError(error: unknown): Response {
  if (error instanceof Fault) return faultAnswer(error.code, error.parts);
  if (error instanceof StoreError) {
    log.error('storage: {reason}', { reason: error.message });
    return faultAnswer('storage_unavailable', {
      message: 'The database does not take writes; nothing was changed.',
    });
  }
  log.error('a request failed: {reason}', { reason: messageOf(error) });
  return faultAnswer('internal');
}
