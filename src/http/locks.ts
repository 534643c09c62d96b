/**
 * The lock door: acquire, renew and release. It stands in front of the router and reads the raw
 * path, since these three calls are nearly all of the traffic and no two readings of a path may
 * differ. An unknown pool is answered just as a wrong key is.
 */
import type { Judgement } from '../access/key_policy.ts';
import { judgeKey } from '../access/key_policy.ts';
import { hashOf } from '../access/keys.ts';
import { CEILINGS } from '../ceilings.ts';
import type { Gauge } from '../core/ask.ts';
import type { ErrorCode } from '../errors.ts';
import { ERRORS } from '../errors.ts';
import { log } from '../log.ts';
import type { Entry } from '../scheduler/directory.ts';
import type { Granted, Refused } from '../scheduler/verdict.ts';
import { AcquireBody, issuesOf, POOL_NAME, ReleaseBody } from '../wire.ts';
import { hasBody, readJson } from './body.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer } from './fault.ts';
import { outcomeOf } from './report.ts';
import type { Peer, Server } from './server.ts';
import { epochMs } from './server.ts';
import { waitOf } from './wait.ts';

const PREFIX = '/pools/';
const JSON_TYPE = 'application/json';
const RENEW = '/renew';
const RELEASE = '/release';
const UNKNOWN_POOL_LINE_MS = 60_000;
const NO_ASK = AcquireBody.parse({});

interface Call {
  readonly request: Request;
  readonly peer: Peer;
  readonly name: string;
}

export class LockDoor {
  readonly #server: Server;
  readonly #epochMs: () => number;
  #unknownToldAtMs = -Infinity;

  constructor(server: Server) {
    this.#server = server;
    this.#epochMs = () => epochMs(server);
  }

  /** The answer, or null where the path (raw, with its query) is not the lock API's. */
  answer(request: Request, peer: Peer, target: string): Promise<Response> | Response | null {
    if (!target.startsWith(PREFIX)) return null;
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const nameEnd = path.indexOf('/', PREFIX.length);
    if (!path.startsWith('/lock/', nameEnd)) return null;
    const name = path.slice(PREFIX.length, nameEnd);
    if (this.#server.directory.get(name) === undefined && !POOL_NAME.test(name)) return null;
    const rest = path.slice(nameEnd + '/lock/'.length);
    const call = { request, peer, name };
    if (rest === 'acquire') return isPost(request) ?? this.#acquire(call);
    const slash = rest.indexOf('/');
    if (slash <= 0) return null;
    const slotId = rest.slice(0, slash);
    const verb = rest.slice(slash);
    if (verb === RENEW) return isPost(request) ?? this.#renew(call, slotId);
    if (verb === RELEASE) return isPost(request) ?? this.#release(call, slotId);
    return null;
  }

  async #acquire(call: Call): Promise<Response> {
    const { directory, deadlines, scheduler } = this.#server;
    const { request, name } = call;
    const caller = this.#authenticate(call);
    if (caller.kind === 'fail') return caller.answer;
    let ask = NO_ASK;
    if (hasBody(request)) {
      const body = await readJson(request, { bytesMax: CEILINGS.lockBodyBytes, deadlines });
      if (directory.get(name)?.pool !== caller.entry.pool) return faultAnswer('unauthorized');
      if (body.kind === 'too_large') return this.#turnAway(call, caller, 'payload_too_large');
      if (body.kind === 'bad') {
        return this.#turnAway(call, caller, 'invalid_request', { message: body.reason });
      }
      if (body.kind === 'json') {
        const parsed = AcquireBody.safeParse(body.value);
        if (!parsed.success) {
          const more = { issues: issuesOf(parsed.error) };
          return this.#turnAway(call, caller, 'invalid_request', { more });
        }
        ask = parsed.data;
      }
    }
    const wait = waitOf(request.headers, ask.waitMs);
    if (wait.kind === 'bad') {
      return this.#turnAway(call, caller, 'invalid_request', { message: wait.reason });
    }
    const verdict = await scheduler.acquire(caller.entry.pool, {
      door: 'lock',
      waitMs: wait.waitMs,
      slots: ask.slots ?? 1,
      tokens: ask.tokens ?? 0,
      holder: ask.holder ?? null,
      keyId: caller.keyId,
      address: addressOf(call.peer),
      signal: () => request.signal,
    });
    if (verdict.kind === 'refused') return refusalAnswer(verdict);
    if (verdict.queuedMs > 0 && request.signal.aborted) {
      scheduler.release(caller.entry.pool, verdict.lease.slotId, { kind: 'unknown' });
    }
    return this.#grantAnswer(verdict, caller.entry);
  }

  #renew(call: Call, slotId: string): Response {
    const caller = this.#authenticate(call);
    if (caller.kind === 'fail') return caller.answer;
    const { scheduler } = this.#server;
    const renewal = scheduler.renew(caller.entry.pool, slotId);
    if (renewal.kind === 'gone') {
      return faultAnswer('not_found', { message: 'No lease of this pool has this slotId.' });
    }
    if (renewal.kind === 'capped') return faultAnswer('capped');
    const leaseDeadline = renewal.lease.dueAtMs + scheduler.clock.shiftMs;
    return jsonAnswer(`{"leaseDeadline":${leaseDeadline}}`);
  }

  async #release(call: Call, slotId: string): Promise<Response> {
    const { directory, deadlines, scheduler } = this.#server;
    const caller = this.#authenticate(call);
    if (caller.kind === 'fail') return caller.answer;
    let report: ReleaseBody | null = null;
    if (hasBody(call.request)) {
      const bytesMax = CEILINGS.lockBodyBytes;
      const body = await readJson(call.request, { bytesMax, deadlines });
      if (directory.get(call.name)?.pool !== caller.entry.pool) return faultAnswer('unauthorized');
      if (body.kind === 'too_large') return faultAnswer('payload_too_large');
      if (body.kind === 'bad') return faultAnswer('invalid_request', { message: body.reason });
      if (body.kind === 'json') {
        const parsed = ReleaseBody.safeParse(body.value);
        if (!parsed.success) {
          return faultAnswer('invalid_request', { more: { issues: issuesOf(parsed.error) } });
        }
        report = parsed.data;
      }
    }
    const { hints } = caller.entry.spec.rate;
    const outcome = outcomeOf(report, { nowMs: this.#epochMs(), hints });
    const released = scheduler.release(caller.entry.pool, slotId, outcome);
    return jsonAnswer(released ? '{"released":true}' : '{"released":false}');
  }

  #authenticate(call: Call): Caller {
    const { directory } = this.#server;
    const { headers } = call.request;
    const entry = directory.get(call.name);
    if (entry === undefined) {
      // The same work as for a wrong key, so that time does not tell a name.
      hashOf(headers.get('x-nthpool-key') ?? '');
      this.#countUnknownPool();
      return { kind: 'fail', answer: faultAnswer('unauthorized') };
    }
    const judgement = judgeKey(entry.keys, entry.spec.access.key, {
      headers,
      epochMs: this.#epochMs,
    });
    if (judgement.kind === 'pass') return { kind: 'pass', entry, keyId: judgement.keyId };
    this.#note(call, entry, { code: 'unauthorized', reason: judgement.reason });
    return { kind: 'fail', answer: faultAnswer('unauthorized') };
  }

  /** Refuses an acquire whose caller is known: with the pool's headers, and a row in the log. */
  #turnAway(call: Call, caller: Passed, code: ErrorCode, parts: FaultParts = {}): Response {
    const { scheduler } = this.#server;
    const attempt = this.#note(call, caller.entry, { code, keyId: caller.keyId });
    const headers = poolHeaders(caller.entry.pool.gauge(scheduler.clock.nowMs()), 0, attempt);
    return faultAnswer(code, { ...parts, headers });
  }

  #note(
    call: Call,
    entry: Entry,
    what: { code: ErrorCode; reason?: string; keyId?: string | null },
  ): string {
    const { scheduler } = this.#server;
    const id = scheduler.nextAttempt();
    scheduler.log.refuse({
      id,
      at: this.#epochMs(),
      pool: entry.spec.name,
      kind: 'lock',
      outcome: what.code,
      status: ERRORS[what.code].status,
      reason: what.reason ?? null,
      queuedMs: 0,
      slots: 0,
      keyId: what.keyId ?? null,
      address: addressOf(call.peer),
      holder: null,
    });
    return id;
  }

  /** Calls to unknown pools are counted, and told in one line a minute at the most. */
  #countUnknownPool(): void {
    const unknownPools = ++this.#server.scheduler.log.tally.unknownPools;
    const nowMs = this.#server.scheduler.clock.nowMs();
    if (nowMs - this.#unknownToldAtMs < UNKNOWN_POOL_LINE_MS) return;
    this.#unknownToldAtMs = nowMs;
    log.warn('{count} calls to unknown pools so far', { count: unknownPools });
  }

  #grantAnswer({ lease, gauge, queuedMs }: Granted, { spec }: Entry): Response {
    const { shiftMs } = this.#server.scheduler.clock;
    const body = JSON.stringify({
      slotId: lease.slotId,
      leaseDeadline: Math.min(lease.grantedAtMs + lease.termMs, lease.requestDeadlineMs) + shiftMs,
      requestDeadline: lease.requestDeadlineMs + shiftMs,
      termMs: lease.termMs,
      renewIntervalMs: spec.lease.renewIntervalMs,
      fence: lease.fence,
    });
    return jsonAnswer(body, poolHeaders(gauge, queuedMs, lease.attempt));
  }
}

interface Passed {
  readonly kind: 'pass';
  readonly entry: Entry;
  readonly keyId: Extract<Judgement, { kind: 'pass' }>['keyId'];
}

type Caller = Passed | { readonly kind: 'fail'; readonly answer: Response };

function isPost(request: Request): Response | null {
  if (request.method === 'POST') return null;
  return faultAnswer('method_not_allowed', { headers: { allow: 'POST' } });
}

function addressOf({ remoteAddr }: Peer): string | null {
  return remoteAddr.hostname ?? null;
}

function refusalAnswer(refused: Refused): Response {
  const { code, reason, retryAfterMs, slotsMax } = refused;
  // A pool that was deleted meanwhile answers as if it had never been.
  if (code === 'unauthorized') return faultAnswer(code);
  const headers: Record<string, string> = poolHeaders(
    refused.gauge,
    refused.queuedMs,
    refused.attempt,
  );
  if (retryAfterMs !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }
  const more: Record<string, unknown> = {};
  if (reason !== undefined) more['reason'] = reason;
  if (retryAfterMs !== undefined) more['retryAfterMs'] = retryAfterMs;
  if (slotsMax === undefined) return faultAnswer(code, { headers, more });
  const why = `must be at most ${slotsMax}, the pool's limit`;
  more['issues'] = [{ path: 'slots', reason: why }];
  return faultAnswer(code, {
    headers,
    more,
    message: `The request asks for more slots: it ${why}.`,
  });
}

function poolHeaders(gauge: Gauge, queuedMs: number, attempt: string): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': JSON_TYPE,
    'x-nthpool-remaining-slots': String(gauge.remaining),
    'x-nthpool-effective-limit': String(gauge.limit),
    'x-nthpool-queued-ms': String(queuedMs),
    'x-nthpool-queue-depth': String(gauge.queued),
    'x-nthpool-request-id': attempt,
  };
  if (gauge.rate !== null) {
    headers['x-nthpool-rpm-limit'] = String(Math.floor(gauge.rate.limit));
    headers['x-nthpool-rpm-remaining'] = String(Math.floor(gauge.rate.remaining));
  }
  return headers;
}

function jsonAnswer(body: string, headers: Record<string, string> = JSON_HEADERS): Response {
  return new Response(body, { headers });
}

const JSON_HEADERS = { 'content-type': JSON_TYPE };
