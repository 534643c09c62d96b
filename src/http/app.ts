/**
 * The door to everything: sorts a request by its host and raw path to the proxy door, the lock door
 * or the routes, checks the access that a route's row names, and turns what was thrown into an
 * answer without a word of the inside.
 */
import type { Context, HonoRequest } from 'hono';
import { Hono } from 'hono';
import { CEILINGS } from '../ceilings.ts';
import { hashOf } from '../access/keys.ts';
import { isSameSecretHash } from '../access/secret.ts';
import type { ErrorCode } from '../errors.ts';
import type { Answer } from '../http1/answer.ts';
import type { TextAnswer } from '../http1/caller.ts';
import type { Incoming } from '../http1/incoming.ts';
import { log, messageOf } from '../log.ts';
import { StoreError } from '../store/store.ts';
import type { FaultParts } from './fault.ts';
import { Fault, faultAnswer, faultResponse, wrongMethod } from './fault.ts';
import { Hosts } from './hosts.ts';
import { LockDoor } from './locks.ts';
import { ProxyDoor } from './proxy.ts';
import { OF_REFUSAL } from './own_headers.ts';
import type { Access, Route } from './route.ts';
import { NO_PAGE, PAGE_ROUTES } from './pages.ts';
import { answerOf, requestOf } from './routed.ts';
import { ROUTES } from './routes.ts';
import { schemeOf } from './scheme.ts';
import type { Peer, Server } from './server.ts';
import { sessionMayPass } from './session.ts';
import { askToSignIn } from './sign_in.ts';

/** Answers a request. Where it fails, {@link answerError} has the answer. */
export type Respond = (request: Incoming, peer: Peer) => Answer | Promise<Answer>;

/** Makes what answers the requests of a server. */
export function makeApp(server: Server): Respond {
  const router = makeRouter(server);
  const locks = new LockDoor(server);
  const proxy = new ProxyDoor(server);
  return sorting(server, (request, peer, pool) => {
    if (pool !== null) return proxy.answer(request, peer, { pool, isPoolHost: true });
    if (request.headBytes > CEILINGS.headBytes) return faultAnswer('head_too_large');
    return locks.answer(request, peer) ?? routed(router, request, { peer, server });
  });
}

/** Makes the same of a listener on which every request is the pool's. */
export function makePoolApp(server: Server, pool: string): Respond {
  const proxy = new ProxyDoor(server);
  return sorting(server, (request, peer, named) => {
    return proxy.answer(request, peer, { pool, isPoolHost: named !== null });
  });
}

/** The answer to what is no request that could be sorted to a door. */
export function refuseUnread(why: 'malformed' | 'head_too_large', reason: string): TextAnswer {
  const code = why === 'malformed' ? 'invalid_request' : why;
  const headers = { [OF_REFUSAL.error.name]: code };
  const message = `The request is not well-formed: ${reason}.`;
  return faultAnswer(code, why === 'malformed' ? { message, headers } : { headers });
}

/** Refuses what could be read as two different requests, before it is sorted to a door. */
function sorting(
  server: Server,
  answer: (request: Incoming, peer: Peer, pool: string | null) => Answer | Promise<Answer>,
): Respond {
  const hosts = new Hosts(server.baseDomain, server.directory.hosts);
  return (request, peer) => {
    const { authority, target, method, headers } = request;
    const host = headers.get('host');
    // This server opens no tunnels, whatever a CONNECT names.
    const hasPath = method !== 'CONNECT' &&
      (target.startsWith('/') || target === '*' && method === 'OPTIONS');
    const isOneHost = hosts.isSound(authority) && (host === null || hosts.agree(authority, host));
    if (!hasPath || !isOneHost) return twofoldAnswer();
    return answer(request, peer, hosts.poolOf(authority));
  };
}

function twofoldAnswer(): Answer {
  return faultAnswer('invalid_request', {
    message: 'The request names two hosts, or no path.',
    headers: { [OF_REFUSAL.error.name]: 'invalid_request' },
  });
}

async function routed(
  router: Hono<Surroundings>,
  incoming: Incoming,
  { peer, server }: { peer: Peer; server: Server },
): Promise<Answer> {
  const isTrusted = server.access.addresses.isTrusted(peer);
  const scheme = schemeOf(incoming.headers, { isTls: server.isTls, isTrusted });
  let request: Request;
  try {
    request = requestOf(incoming, { isTls: scheme.toLowerCase() === 'https' });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The platform has no such requests: TRACE and its like, or a host that is none.
    return faultAnswer('invalid_request', { message: 'The method or the host is taken nowhere.' });
  }
  return await answerOf(await router.fetch(request, { peer }));
}

interface Surroundings {
  readonly Bindings: { readonly peer: Peer };
}

function makeRouter(server: Server): Hono<Surroundings> {
  const router = new Hono<Surroundings>();
  const methods = new Map<string, string[]>();
  const answerBy = (route: Route) => (context: Context<Surroundings>) => {
    const { raw } = context.req;
    if (mayPass(route.access, raw, server)) return route.answer(context, server);
    if (route.access === 'page') return askToSignIn(context, server);
    return refuseSlowly(server, context.env.peer, raw.headers);
  };
  const answerNoPage = answerBy(NO_PAGE);
  for (const route of [...ROUTES, ...PAGE_ROUTES]) {
    router.on(route.method, route.path, answerBy(route));
    methods.set(route.path, [...methods.get(route.path) ?? [], route.method]);
  }
  for (const [path, allowed] of methods) {
    router.all(
      path,
      (context) =>
        isPageWanted(context.req)
          ? answerNoPage(context)
          : faultResponse('method_not_allowed', wrongMethod(allowed)),
    );
  }
  router.notFound((context) =>
    isPageWanted(context.req)
      ? answerNoPage(context)
      : faultResponse('not_found', { message: whereElse(server.baseDomain, context.req.url) })
  );
  router.onError((error) => faultResponse(...faultOf(error)));
  return router;
}

/** Whether a browser goes to a page under /admin; programs are told of faults as JSON. */
function isPageWanted({ method, path, raw }: HonoRequest): boolean {
  return method === 'GET' && path.startsWith('/admin/') && !path.startsWith('/admin/api/') &&
    (raw.headers.get('accept') ?? '').includes('text/html');
}

/** Told where nothing is: mostly a caller that took this address for its pool's. */
function whereElse(baseDomain: string, url: string): string {
  const { port } = new URL(url);
  const host = `{pool}.${baseDomain}${port === '' ? '' : `:${port}`}`;
  return `No pool's upstream is behind this address: a pool is reached at ${host} or at an ` +
    'address of --pool-listen, the admin page at /admin, the API at /docs.';
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
  const answer = () => faultResponse('unauthorized', { message: 'The admin token is wanted.' });
  if (delayMs === 0) return answer();
  return new Promise((told) => clock.after(delayMs, () => told(answer())));
}

/** What is told where a door failed: nothing of the inside. */
export function answerError(error: unknown): Answer {
  return faultAnswer(...faultOf(error));
}

function faultOf(error: unknown): [code: ErrorCode, parts?: FaultParts] {
  if (error instanceof Fault) return [error.code, error.parts];
  if (error instanceof StoreError) {
    log.error('storage: {reason}', { reason: error.message });
    return ['storage_unavailable', {
      message: 'The database does not take writes; nothing was changed.',
    }];
  }
  log.error('a request failed: {reason}', { reason: messageOf(error) });
  return ['internal'];
}
