/**
 * The proxy door: every path on a pool's host is the proxy's. It checks the caller, waits for a
 * slot as the lock door does, and hands the request on. Whatever it answers by itself says so in
 * `x-nthpool-error`; a forwarded answer never has that header.
 */
import { CEILINGS } from '../ceilings.ts';
import type { ErrorCode } from '../errors.ts';
import type { Granted } from '../scheduler/verdict.ts';
import { handshake } from '../upstream/forward/handshake.ts';
import { unsized } from '../upstream/forward/unsized.ts';
import type { Target } from '../upstream/target.ts';
import type { Bytes } from './body.ts';
import { Call } from './call.ts';
import type { Passed } from './callers.ts';
import { Callers } from './callers.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';
import { poolHeaders, refusalAnswer, withRetry } from './pool_headers.ts';
import { Proxied } from './proxied.ts';
import type { BodyFraming } from './request_head.ts';
import { requestHead } from './request_head.ts';
import type { Peer, Server } from './server.ts';
import { Upgraded } from './upgraded.ts';
import { waitOf } from './wait.ts';

const LENGTH = /^\d{1,15}$/;
/** Methods whose answer repeats the request, in the cases in which upstreams may take them. */
const ECHOING = /^trac[ek]$/i;

/** A call that may pass. */
interface Admitted {
  readonly call: Call;
  readonly caller: Passed;
}

export class ProxyDoor {
  readonly #server: Server;
  readonly #callers: Callers;

  constructor(server: Server) {
    this.#server = server;
    this.#callers = new Callers(server);
  }

  /** @param where.target path and query exactly as they were sent. */
  async answer(
    request: Request,
    peer: Peer,
    where: { pool: string; target: string; isPoolHost: boolean },
  ): Promise<Response> {
    const call = new Call(this.#server, { request, peer, door: 'proxy', ...where });
    const checked = this.#callers.check(call);
    const caller = checked instanceof Promise ? await checked : checked;
    if (caller.kind === 'pass') return this.#admit({ call, caller });
    const { code, parts } = caller;
    return faultAnswer(code, { ...parts, headers: { 'x-nthpool-error': code } });
  }

  async #admit(admitted: Admitted): Promise<Response> {
    const { scheduler, forwarding } = this.#server;
    const { call, caller: { entry, keyId, signer, hasNonce } } = admitted;
    const { headers } = call;
    const target = forwarding.targetOf(entry.spec);
    if (target === null) return this.#turnAway(admitted, 'no_upstream');
    if (isUpgrade(headers) && (!isWebSocket(call.request) || forwarding.upgrade === null)) {
      return this.#turnAway(admitted, 'upgrade_unsupported');
    }
    if (ECHOING.test(call.method) && target.spec.credentials.length > 0) {
      const message = 'The answer to TRACE would show the credential of this pool.';
      return this.#turnAway(admitted, 'invalid_request', { message });
    }
    const framing = framingOf(call.request);
    if (typeof framing === 'string') {
      return this.#turnAway(admitted, 'invalid_request', { message: framing });
    }
    const wait = waitOf(headers, undefined, entry.spec.queue.timeoutMs);
    if (wait.kind === 'bad') {
      return this.#turnAway(admitted, 'invalid_request', { message: wait.reason });
    }
    const looked = target.credentials.look(scheduler.clock.nowMs());
    if (looked.kind === 'cooling') return this.#refuseCooling(admitted, looked.untilMs);
    // The one thing that forwarding waits for the store for: a nonce must not come twice.
    if (hasNonce && !await scheduler.journal.isKept()) {
      return this.#turnAway(admitted, 'storage_unavailable');
    }
    if (hasNonce && !this.#callers.mayGoOn(call, admitted.caller)) {
      return this.#turnAway(admitted, 'unauthorized');
    }
    const verdict = await scheduler.acquire(entry.pool, {
      door: 'proxy',
      waitMs: Math.min(wait.waitMs, this.#callers.waitMsMax(admitted.caller)),
      slots: 1,
      tokens: 0,
      holder: null,
      keyId,
      signer,
      address: call.address.text,
      asked: () => ({ method: call.method, path: call.loggedPath }),
      signal: () => call.request.signal,
    });
    if (verdict.kind === 'refused') {
      return refusalAnswer(verdict, { 'x-nthpool-error': verdict.code });
    }
    try {
      return await this.#forward(admitted, verdict, { target, framing });
    } catch (error) {
      scheduler.release(entry.pool, verdict.lease.slotId, { kind: 'unknown' });
      throw error;
    }
  }

  async #forward(
    admitted: Admitted,
    granted: Granted,
    { target, framing }: { target: Target; framing: BodyFraming },
  ): Promise<Response> {
    const { call, caller: { entry, carriers } } = admitted;
    const { request, peer, target: path } = call;
    const { scheduler, access } = this.#server;
    const held = granted.queuedMs > 0 ? await heldBody(call) : null;
    if (held?.kind === 'bad') {
      scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unknown' });
      return this.#turnAway(admitted, 'invalid_request', { message: held.reason });
    }
    const choice = target.credentials.choose(scheduler.clock.nowMs());
    if (choice.kind === 'cooling') {
      scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unknown' });
      return this.#refuseCooling(admitted, choice.untilMs);
    }
    const address = call.address.text;
    const { credential } = choice;
    const shake = isUpgrade(request.headers) ? handshake() : null;
    const upload = isEmpty(framing) ? null : await uploadOf(call);
    const body = upload === null && framing.kind === 'chunked' ? NO_BODY : framing;
    const head = requestHead({
      method: request.method,
      path,
      headers: request.headers,
      host: request.headers.get('host') ?? call.host,
      target,
      credential,
      carriers,
      body,
      peer: {
        address: peer.remoteAddr.hostname ?? null,
        isTls: this.#server.isTls,
        isTrusted: access.addresses.isTrusted(peer),
      },
      ...(shake === null ? {} : { upgrade: shake.lines }),
    });
    if (head.length > CEILINGS.headBytes) {
      scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unknown' });
      return this.#turnAway(admitted, 'head_too_large');
    }
    const proxied = new Proxied(this.#server, {
      entry,
      granted,
      target,
      credential,
      request,
      path: call.loggedPath,
      address,
      call: {
        origin: target.origin,
        method: request.method,
        head,
        body: upload,
        bodyBytes: body.kind === 'length' ? body.bytes : null,
        isUpgrade: shake !== null,
        limits: target.spec,
      },
    });
    // Until now there was nothing of it that could be ended with its slot.
    if (!granted.lease.isLive) proxied.end();
    return shake === null ? proxied.answer() : new Upgraded(this.#server, proxied).answer(shake);
  }

  /** Refuses a caller that is known: with the pool's headers, and a row in the log. */
  #turnAway(
    { call, caller: { entry, keyId } }: Admitted,
    code: ErrorCode,
    parts: FaultParts & { reason?: string } = {},
  ): Response {
    const { reason, ...rest } = parts;
    const why = reason === undefined ? {} : { reason };
    const attempt = this.#callers.note(call, entry, { code, keyId, ...why });
    const gauge = entry.pool.gauge(this.#server.scheduler.clock.nowMs());
    const headers = { ...poolHeaders(gauge, 0, attempt), 'x-nthpool-error': code };
    return faultAnswer(code, { ...rest, headers: { ...rest.headers, ...headers } });
  }

  /** All credentials are put aside: the caller may come back when the first is not. */
  #refuseCooling(admitted: Admitted, untilMs: number): Response {
    const retryAfterMs = Math.max(1, Math.ceil(untilMs - this.#server.scheduler.clock.nowMs()));
    const message = 'The upstream has refused every credential of this pool lately.';
    const parts = withRetry(retryAfterMs, { message, more: { reason: 'credentials' } });
    return this.#turnAway(admitted, 'too_many_requests', { ...parts, reason: 'credentials' });
  }
}

const NO_BODY: BodyFraming = { kind: 'none' };
const CHUNKED: BodyFraming = { kind: 'chunked' };

/** How the caller's body is framed, or why it cannot be passed on. */
function framingOf(request: Request): BodyFraming | string {
  const framing = framingSaid(request);
  // The runtime hands no such body out, and the upstream would take the next request for it.
  const isHidden = request.method === 'GET' || request.method === 'HEAD';
  if (typeof framing === 'string' || isEmpty(framing) || !isHidden) return framing;
  return `This server cannot pass on a body with ${request.method}.`;
}

function framingSaid(request: Request): BodyFraming | string {
  const { headers } = request;
  const coding = headers.get('transfer-encoding');
  if (coding !== null) {
    const isChunked = coding.trim().toLowerCase() === 'chunked';
    return isChunked ? CHUNKED : 'Only chunked is taken as a transfer coding.';
  }
  const length = headers.get('content-length');
  if (length === null) {
    // Over HTTP/2, which has no Host, a body needs neither header.
    return headers.get('host') === null && request.body !== null ? CHUNKED : NO_BODY;
  }
  // Lines that repeat the same length came joined.
  const [first = ''] = length.split(',', 1);
  const bytes = Number(first);
  return LENGTH.test(first) ? { kind: 'length', bytes } : 'Content-Length is not a number.';
}

function isWebSocket({ method, headers }: Request): boolean {
  return method === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket';
}

function isUpgrade(headers: Headers): boolean {
  if (headers.get('upgrade') === null) return false;
  return /\bupgrade\b/i.test(headers.get('connection') ?? '');
}

function isEmpty(body: BodyFraming): boolean {
  return body.kind === 'none' || (body.kind === 'length' && body.bytes === 0);
}

/**
 * A small body of one that waited, read to its end before the upstream hears of it. Reading is what
 * tells of a caller that hung up meanwhile: the runtime is silent while a body is not read.
 */
function heldBody(call: Call): Bytes | Promise<Bytes> | null {
  const length = call.headers.get('content-length');
  const isSmall = length !== null && Number(length) <= CEILINGS.lockBodyBytes;
  return isSmall ? call.body(CEILINGS.lockBodyBytes) : null;
}

/** The body as it comes, or again where a policy has read it; null where it turns out empty. */
async function uploadOf({ request, bodyRead }: Call): Promise<ReadableStream<Uint8Array> | null> {
  if (bodyRead !== null) {
    const read = await bodyRead;
    return read.kind === 'bytes' ? new Response(read.bytes as BodyInit).body : null;
  }
  const { body, headers } = request;
  const isTold = headers.get('transfer-encoding') !== null ||
    headers.get('content-length') !== null;
  return isTold || body === null ? body : await unsized(body);
}
