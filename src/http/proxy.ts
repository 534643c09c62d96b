/**
 * The proxy door: every path on a pool's host is the proxy's. It checks the caller, waits for a
 * slot as the lock door does, and hands the request on. Whatever it answers by itself says so in
 * `x-nthpool-error`; a forwarded answer never has that header.
 */
import { CEILINGS } from '../ceilings.ts';
import type { ErrorCode } from '../errors.ts';
import type { Answer } from '../http1/answer.ts';
import type { HeaderLines } from '../http1/header_lines.ts';
import type { Incoming } from '../http1/incoming.ts';
import { type BodySource, sourceOf } from '../http1/incoming_body.ts';
import type { Granted } from '../scheduler/verdict.ts';
import type { Cooling } from '../upstream/credentials.ts';
import type { Bytes } from './body.ts';
import { Call } from './call.ts';
import type { Checked, Passed } from './callers.ts';
import { Callers } from './callers.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';
import { OF_REFUSAL } from './own_headers.ts';
import { poolLines, refusalAnswer, withRetry } from './pool_headers.ts';
import { Proxied } from './proxied.ts';
import { requestHead } from './request_head.ts';
import type { Peer, Server } from './server.ts';
import { upgraded } from './upgraded.ts';
import { waitOf } from './wait.ts';

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

  answer(
    request: Incoming,
    peer: Peer,
    where: { pool: string; isPoolHost: boolean },
  ): Answer | Promise<Answer> {
    const call = new Call(this.#server, { request, peer, door: 'proxy', ...where });
    const checked = this.#callers.check(call);
    if (checked instanceof Promise) return checked.then((caller) => this.#answer(call, caller));
    return this.#answer(call, checked);
  }

  #answer(call: Call, caller: Checked): Answer | Promise<Answer> {
    if (caller.kind === 'pass') return this.#admit({ call, caller });
    const { code, parts } = caller;
    return faultAnswer(code, { ...parts, headers: { [OF_REFUSAL.error.name]: code } });
  }

  async #admit(admitted: Admitted): Promise<Answer> {
    const { scheduler, forwarding } = this.#server;
    const { call, caller: { entry, keyId, signer, hasNonce } } = admitted;
    const { headers } = call;
    const target = forwarding.targetOf(entry.spec);
    if (target === null) return this.#turnAway(admitted, 'no_upstream');
    // What can never be sent takes no place in the queue.
    if (call.request.headBytes > CEILINGS.headBytes) {
      return this.#turnAway(admitted, 'head_too_large');
    }
    if (isUpgrade(headers) && !isWebSocket(call.request)) {
      return this.#turnAway(admitted, 'upgrade_unsupported');
    }
    if (ECHOING.test(call.method) && target.spec.credentials.length > 0) {
      const message = 'The answer to TRACE would show the credential of this pool.';
      return this.#turnAway(admitted, 'invalid_request', { message });
    }
    const wait = waitOf(headers, undefined, entry.spec.queue.timeoutMs);
    if (wait.kind === 'bad') {
      return this.#turnAway(admitted, 'invalid_request', wait.told);
    }
    const looked = target.credentials.look(scheduler.clock.nowMs());
    if (looked.kind === 'cooling') return this.#refuseCooling(admitted, looked);
    // The one thing that forwarding waits for the store for: a nonce must not come twice.
    if (hasNonce && !await scheduler.journal.isKept()) {
      return this.#turnAway(admitted, 'storage_unavailable');
    }
    const reason = hasNonce ? this.#callers.faultOf(call, admitted.caller) : null;
    if (reason !== null) return this.#turnAway(admitted, 'unauthorized', { reason });
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
      presence: call.request,
    });
    if (verdict.kind === 'refused') {
      return refusalAnswer(verdict, { [OF_REFUSAL.error.name]: verdict.code });
    }
    try {
      const { request, bodyRead } = call;
      const body = bodyRead === null ? request.body : await bodyOf(bodyRead);
      return await this.#forward(admitted, verdict, body);
    } catch (error) {
      scheduler.release(entry.pool, verdict.lease.slotId, { kind: 'unknown' });
      throw error;
    }
  }

  #forward(
    admitted: Admitted,
    granted: Granted,
    body: BodySource | null,
  ): Answer | Promise<Answer> {
    const { call, caller: { entry: asked, carriers } } = admitted;
    const { request, peer, target: path } = call;
    const { scheduler, access, forwarding, directory } = this.#server;
    const { queuedMs } = granted;
    // What was moved or taken back while it waited must not be used any more.
    const now = directory.get(call.pool);
    const entry = now?.pool === asked.pool ? now : asked;
    const unused = () => scheduler.release(entry.pool, granted.lease.slotId, { kind: 'unsent' });
    const target = forwarding.targetOf(entry.spec);
    if (target === null) {
      unused();
      return this.#turnAway(admitted, 'no_upstream', { queuedMs });
    }
    const choice = target.credentials.choose(scheduler.clock.nowMs());
    if (choice.kind === 'cooling') {
      unused();
      return this.#refuseCooling(admitted, choice, queuedMs);
    }
    const address = call.address.text;
    const { credential } = choice;
    const { framing } = request;
    const upgrades = isUpgrade(request.headers);
    const head = requestHead({
      method: request.method,
      path,
      headers: request.headers,
      host: request.headers.get('host') ?? '',
      target,
      credential,
      carriers,
      body: framing,
      peer: {
        address: peer.remoteAddr.hostname ?? null,
        isTls: this.#server.isTls,
        isTrusted: access.addresses.isTrusted(peer),
      },
      isUpgrade: upgrades,
    });
    if (head.length > CEILINGS.headBytes) {
      unused();
      return this.#turnAway(admitted, 'head_too_large', { queuedMs });
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
        body,
        bodyBytes: framing.kind === 'length' ? framing.bytes : null,
        isUpgrade: upgrades,
        limits: target.spec,
      },
    });
    // Until now there was nothing of it that could be ended with its slot.
    if (!granted.lease.isLive) proxied.end();
    return upgrades ? upgraded(this.#server, proxied) : proxied.answer();
  }

  /** Refuses a caller that is known: with the pool's headers, and a row in the log. */
  #turnAway(
    { call, caller: { entry, keyId } }: Admitted,
    code: ErrorCode,
    parts: FaultParts & { reason?: string; queuedMs?: number } = {},
  ): Answer {
    const { reason, queuedMs = 0, ...rest } = parts;
    const why = reason === undefined ? {} : { reason };
    const attempt = this.#callers.note(call, entry, { code, keyId, queuedMs, ...why });
    const gauge = entry.pool.gauge(this.#server.scheduler.clock.nowMs());
    const lines = poolLines(gauge, { attempt, queuedMs });
    return faultAnswer(code, {
      ...rest,
      lines,
      headers: { ...rest.headers, [OF_REFUSAL.error.name]: code },
    });
  }

  /**
   * All credentials are put aside: come back when one is not, and the gates are open. The caller is
   * told by which statuses; names are the administrators' alone.
   */
  #refuseCooling(admitted: Admitted, cooling: Cooling, queuedMs = 0): Answer {
    const { untilMs, statuses } = cooling;
    const { entry: { pool } } = admitted.caller;
    const nowMs = this.#server.scheduler.clock.nowMs();
    const opening = pool.opening(nowMs, 0, pool.queue.length);
    const opensAtMs = opening.kind === 'shut' && opening.atMs < Infinity ? opening.atMs : nowMs;
    const retryAfterMs = pool.retryAfterMs(Math.max(untilMs, opensAtMs), nowMs);
    const message = 'The upstream has refused every credential of this pool lately, ' +
      `with ${statuses.join(' and ')}.`;
    const parts = withRetry(retryAfterMs, { message, more: { reason: 'credentials' } });
    const more = { reason: 'credentials', queuedMs };
    return this.#turnAway(admitted, 'too_many_requests', { ...parts, ...more });
  }
}

function isWebSocket({ method, minor, headers, body }: Incoming): boolean {
  return method === 'GET' && minor === 1 && body === null &&
    headers.get('upgrade')?.toLowerCase() === 'websocket';
}

function isUpgrade(headers: HeaderLines): boolean {
  if (headers.get('upgrade') === null) return false;
  return headers.words('connection').includes('upgrade');
}

/** The body again, where a policy has read it. */
async function bodyOf(bodyRead: Bytes | Promise<Bytes>): Promise<BodySource | null> {
  const read = await bodyRead;
  return read.kind === 'bytes' ? sourceOf(read.bytes) : null;
}
