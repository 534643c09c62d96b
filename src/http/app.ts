/**
 * The door to everything: sorts a request by its host and raw path to the proxy door, the lock door
 * or the routes, checks the access that a route's row names, and turns what was thrown into an
 * answer without a word of the inside.
 */
import { Hono } from 'hono';
import { hashOf } from '../access/keys.ts';
import { isSameSecretHash } from '../access/secret.ts';
import { log, messageOf } from '../log.ts';
import { StoreError } from '../store/store.ts';
import { Fault, faultAnswer } from './fault.ts';
import { Hosts } from './hosts.ts';
import { LockDoor } from './locks.ts';
import { ProxyDoor } from './proxy.ts';
import type { Access } from './route.ts';
import { goTo } from './page_answer.ts';
import { PAGE_ROUTES } from './pages.ts';
import { ROUTES } from './routes.ts';
import type { Peer, Server } from './server.ts';
import { sessionMayPass } from './session.ts';

export type Fetch = (request: Request, peer: Peer) => Response | Promise<Response>;

/** Makes the request handler of a server. */
export function makeApp(server: Server): Fetch {
  const router = makeRouter(server);
  const locks = new LockDoor(server);
  const proxy = new ProxyDoor(server);
  const hosts = new Hosts(server.baseDomain);
  const answer = (request: Request, peer: Peer): Response | Promise<Response> => {
    const { url } = request;
    const hostAt = url.indexOf('://') + 3;
    const pathAt = url.indexOf('/', hostAt);
    const pool = hosts.poolOf(url.slice(hostAt, pathAt));
    if (pool !== null) return proxy.answer(request, peer, pool);
    return locks.answer(request, peer, url.slice(pathAt)) ??
      router.fetch(request, { peer });
  };
  return (request, peer) => {
    try {
      return answer(request, peer);
    } catch (error) {
      return answerError(error);
    }
  };
}

interface Surroundings {
  readonly Bindings: { readonly peer: Peer };
}

function makeRouter(server: Server): Hono<Surroundings> {
  const router = new Hono<Surroundings>();
  const methods = new Map<string, string[]>();
  for (const route of [...ROUTES, ...PAGE_ROUTES]) {
    router.on(route.method, route.path, (context) => {
      if (mayPass(route.access, context.req.raw, server)) return route.answer(context, server);
      if (route.access === 'page') return goTo(context, '/admin/sign-in');
      return faultAnswer('unauthorized');
    });
    methods.set(route.path, [...methods.get(route.path) ?? [], route.method]);
  }
  for (const [path, allowed] of methods) {
    const headers = { allow: allowed.join(', ') };
    router.all(path, () => faultAnswer('method_not_allowed', { headers }));
  }
  router.notFound(() => faultAnswer('not_found'));
  router.onError(answerError);
  return router;
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
