/**
 * The proxy door: every path on a pool's host is the proxy's. It checks the caller, waits for a
 * slot as the lock door does, and hands the request on. Whatever it answers by itself says so in
 * `x-nthpool-error`; a forwarded answer never has that header.
 */
import { hashOf } from '../access/keys.ts';
import { CEILINGS } from '../ceilings.ts';
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import type { Entry } from '../scheduler/directory.ts';
import type { Granted } from '../scheduler/verdict.ts';
import { handshake } from '../upstream/forward/handshake.ts';
import type { Target } from '../upstream/target.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';
import { poolHeaders, refusalAnswer, withRetry } from './pool_headers.ts';
import { Proxied } from './proxied.ts';
import type { Carriers } from './proxy_caller.ts';
import { proxyCaller } from './proxy_caller.ts';
import type { BodyFraming } from './request_head.ts';
import { requestHead } from './request_head.ts';
import type { Peer, Server } from './server.ts';
import { epochMs } from './server.ts';
import { Upgraded } from './upgraded.ts';
import { waitOf } from './wait.ts';

const LOGGED_PATH_MAX = 1024;
const LENGTH = /^\d{1,15}$/;

interface Call {
  readonly request: Request;
  readonly peer: Peer;
  readonly entry: Entry;
  /** Path and query as they came. */
  readonly path: string;
  readonly keyId: string | null;
  readonly carriers: Carriers;
}

export class ProxyDoor {
  readonly #server: Server;
  readonly #epochMs: () => number;

  constructor(server: Server) {
    this.#server = server;
    this.#epochMs = () => epochMs(server);
  }

  answer(request: Request, peer: Peer, name: string): Response | Promise<Response> {
    const { headers, url } = request;
    const entry = this.#server.directory.get(name);
    if (entry === undefined) {
      // The same work as for a wrong key, so that time does not tell a name.
      hashOf(headers.get('x-nthpool-key') ?? '');
      return unauthorized();
    }
    const path = url.slice(url.indexOf('/', url.indexOf('://') + 3));
    const caller = proxyCaller(entry, headers, this.#epochMs);
    const call = { request, peer, entry, path, keyId: null, carriers: NONE };
    if (caller.kind === 'pass') return this.#admit({ ...call, ...caller });
    this.#note(call, 'unauthorized', caller.reason);
    return unauthorized();
  }

  async #admit(call: Call): Promise<Response> {
    const { scheduler, forwarding } = this.#server;
    const { request: { headers }, entry } = call;
    const target = forwarding.targetOf(entry.spec);
    if (target === null) return this.#turnAway(call, 'no_upstream');
    if (isUpgrade(headers) && (!isWebSocket(call.request) || forwarding.upgrade === null)) {
      return this.#turnAway(call, 'upgrade_unsupported');
    }
    const framing = framingOf(headers);
    if (framing === null) {
      const message = 'Only chunked is taken as a transfer coding.';
      return this.#turnAway(call, 'invalid_request', { message });
    }
    const wait = waitOf(headers, undefined, entry.spec.queue.timeoutMs);
    if (wait.kind === 'bad') {
      return this.#turnAway(call, 'invalid_request', { message: wait.reason });
    }
    const looked = target.credentials.look(scheduler.clock.nowMs());
    if (looked.kind === 'cooling') return this.#refuseCooling(call, looked.untilMs);
    const verdict = await scheduler.acquire(entry.pool, {
      door: 'proxy',
      waitMs: wait.waitMs,
      slots: 1,
      tokens: 0,
      holder: null,
      keyId: call.keyId,
      address: call.peer.remoteAddr.hostname ?? null,
      signal: () => call.request.signal,
    });
    if (verdict.kind === 'refused') {
      return refusalAnswer(verdict, { 'x-nthpool-error': verdict.code });
    }
    return this.#forward(call, verdict, { target, framing });
  }

  #forward(
    call: Call,
    granted: Granted,
    { target, framing: body }: { target: Target; framing: BodyFraming },
  ): Response | Promise<Response> {
    const { request, entry, path, peer } = call;
    const { scheduler } = this.#server;
    const choice = target.credentials.choose(scheduler.clock.nowMs());
    if (choice.kind === 'cooling') {
      scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unknown' });
      return this.#refuseCooling(call, choice.untilMs);
    }
    const address = peer.remoteAddr.hostname ?? null;
    const { credential } = choice;
    const shake = isUpgrade(request.headers) ? handshake() : null;
    const head = requestHead({
      method: request.method,
      path,
      headers: request.headers,
      host: request.headers.get('host') ?? target.host,
      target,
      credential,
      carriers: call.carriers,
      body,
      peer: { address, isTls: request.url.startsWith('https:'), isTrusted: false },
      ...(shake === null ? {} : { upgrade: shake.lines }),
    });
    if (head.length > CEILINGS.headBytes) {
      scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unknown' });
      return this.#turnAway(call, 'head_too_large');
    }
    const query = path.indexOf('?');
    const proxied = new Proxied(this.#server, {
      entry,
      granted,
      target,
      credential,
      request,
      path: (query < 0 ? path : path.slice(0, query)).slice(0, LOGGED_PATH_MAX),
      address,
      call: {
        origin: target.origin,
        method: request.method,
        head,
        body: body.kind === 'none' || (body.kind === 'length' && body.bytes === 0)
          ? null
          : request.body,
        bodyBytes: body.kind === 'length' ? body.bytes : null,
        isUpgrade: shake !== null,
        limits: target.spec,
      },
    });
    return shake === null ? proxied.answer() : new Upgraded(this.#server, proxied).answer(shake);
  }

  /** Refuses a caller that is known: with the pool's headers, and a row in the log. */
  #turnAway(call: Call, code: ErrorCode, parts: FaultParts = {}, reason?: string): Response {
    const attempt = this.#note(call, code, reason ?? null);
    const gauge = call.entry.pool.gauge(this.#server.scheduler.clock.nowMs());
    const headers = { ...poolHeaders(gauge, 0, attempt), 'x-nthpool-error': code };
    return faultAnswer(code, { ...parts, headers: { ...parts.headers, ...headers } });
  }

  /** All credentials are put aside: the caller may come back when the first is not. */
  #refuseCooling(call: Call, untilMs: number): Response {
    const retryAfterMs = Math.max(1, Math.ceil(untilMs - this.#server.scheduler.clock.nowMs()));
    const message = 'The upstream has refused every credential of this pool lately.';
    const parts = withRetry(retryAfterMs, { message, more: { reason: 'credentials' } });
    return this.#turnAway(call, 'too_many_requests', parts, 'credentials');
  }

  #note({ entry, peer, keyId }: Call, code: ErrorCode, reason: string | null): string {
    const { scheduler } = this.#server;
    const id = scheduler.nextAttempt();
    scheduler.log.refuse({
      id,
      at: this.#epochMs(),
      pool: entry.spec.name,
      kind: 'proxy',
      outcome: code,
      status: ERRORS[code].status,
      reason,
      queuedMs: 0,
      slots: 0,
      keyId,
      address: peer.remoteAddr.hostname ?? null,
      holder: null,
    });
    return id;
  }
}

const NONE: Carriers = new Set();
const NO_BODY: BodyFraming = { kind: 'none' };
const CHUNKED: BodyFraming = { kind: 'chunked' };

/** How the caller's body is framed; null where it is in a way that cannot be passed on. */
function framingOf(headers: Headers): BodyFraming | null {
  const coding = headers.get('transfer-encoding');
  if (coding !== null) return coding.trim().toLowerCase() === 'chunked' ? CHUNKED : null;
  const length = headers.get('content-length');
  if (length === null) return NO_BODY;
  // Lines that repeat the same length came joined.
  const [first = ''] = length.split(',', 1);
  return LENGTH.test(first) ? { kind: 'length', bytes: Number(first) } : null;
}

function isWebSocket({ method, headers }: Request): boolean {
  return method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket';
}

function isUpgrade(headers: Headers): boolean {
  if (headers.get('upgrade') === null) return false;
  return /\bupgrade\b/i.test(headers.get('connection') ?? '');
}

function unauthorized(): Response {
  return faultAnswer('unauthorized', { headers: { 'x-nthpool-error': 'unauthorized' } });
}
