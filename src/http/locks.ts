/**
 * The lock door: acquire, renew and release. It stands in front of the router and reads the raw
 * path, since these three calls are nearly all of the traffic and no two readings of a path may
 * differ. An unknown pool is answered just as a wrong key is.
 */
import { CEILINGS } from '../ceilings.ts';
import { isHeld, renewIntervalMsOf } from '../core/lease.ts';
import type { Pool } from '../core/pool.ts';
import type { ErrorCode } from '../errors.ts';
import { type Answer, headerText } from '../http1/answer.ts';
import type { Incoming } from '../http1/incoming.ts';
import { isRepeatKey, Repeats } from '../scheduler/repeats.ts';
import type { Granted } from '../scheduler/verdict.ts';
import { AcquireBody, complaintOf, POOL_NAME, ReleaseBody } from '../wire.ts';
import type { Body } from './body.ts';
import { Call } from './call.ts';
import type { Checked, Passed } from './callers.ts';
import { Callers } from './callers.ts';
import type { FaultParts } from './fault.ts';
import { faultAnswer, wrongField, wrongMethod } from './fault.ts';
import { ASKED, LEASE_MS } from './own_headers.ts';
import { poolLines, refusalAnswer } from './pool_headers.ts';
import { outcomeOf } from './report.ts';
import type { Peer, Server } from './server.ts';
import { epochMs } from './server.ts';
import { waitOf } from './wait.ts';

const PREFIX = '/pools/';
const JSON_TYPE = 'application/json';
const RENEW = '/renew';
const RELEASE = '/release';
const NO_ASK = AcquireBody.parse({});
const REPEAT_KEY_HEADER = ASKED.repeatKey.name;
const BAD_REPEAT_KEY = wrongField(REPEAT_KEY_HEADER, 'must be 1 to 128 visible ASCII characters');

export class LockDoor {
  readonly #server: Server;
  readonly #callers: Callers;
  readonly #repeats: Repeats;

  constructor(server: Server) {
    this.#server = server;
    this.#callers = new Callers(server);
    this.#repeats = new Repeats(server.scheduler);
  }

  /** The answer, or null where the path (raw, with its query) is not the lock API's. */
  answer(request: Incoming, peer: Peer): Promise<Answer> | Answer | null {
    const { target } = request;
    if (!target.startsWith(PREFIX)) return null;
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const nameEnd = path.indexOf('/', PREFIX.length);
    if (!path.startsWith('/lock/', nameEnd)) return null;
    const name = path.slice(PREFIX.length, nameEnd);
    if (this.#server.directory.get(name) === undefined && !POOL_NAME.test(name)) return null;
    const rest = path.slice(nameEnd + '/lock/'.length);
    const call = new Call(this.#server, { request, peer, pool: name, door: 'lock' });
    if (rest === 'acquire') return isPost(request) ?? this.#acquire(call);
    const slash = rest.indexOf('/');
    if (slash <= 0) return null;
    const slotId = rest.slice(0, slash);
    const verb = rest.slice(slash);
    if (verb === RENEW) return isPost(request) ?? this.#renew(call, slotId);
    if (verb === RELEASE) return isPost(request) ?? this.#release(call, slotId);
    return null;
  }

  async #acquire(call: Call): Promise<Answer> {
    const { request } = call;
    const checked = this.#callers.check(call);
    const caller = checked instanceof Promise ? await checked : checked;
    if (caller.kind === 'fail') return faultAnswer(caller.code, caller.parts);
    let ask = NO_ASK;
    const reading = call.json(CEILINGS.lockBodyBytes);
    if (reading !== null) {
      const isLate = reading instanceof Promise;
      const body = isLate ? await reading : reading;
      if (isLate && !this.#callers.mayGoOn(call, caller)) return faultAnswer('unauthorized');
      if (body.kind === 'too_large') return this.#turnAway(call, caller, 'payload_too_large');
      if (body.kind === 'bad') {
        return this.#turnAway(call, caller, 'invalid_request', { message: body.reason });
      }
      if (body.kind === 'json') {
        const parsed = AcquireBody.safeParse(body.value);
        if (!parsed.success) {
          return this.#turnAway(call, caller, 'invalid_request', complaintOf(parsed.error));
        }
        ask = parsed.data;
      }
    }
    const wait = waitOf(request.headers, ask.waitMs);
    if (wait.kind === 'bad') {
      return this.#turnAway(call, caller, 'invalid_request', wait.told);
    }
    const repeatKey = request.headers.get(REPEAT_KEY_HEADER);
    if (repeatKey !== null && !isRepeatKey(repeatKey)) {
      return this.#turnAway(call, caller, 'invalid_request', BAD_REPEAT_KEY);
    }
    const wanted = {
      door: 'lock',
      waitMs: Math.min(wait.waitMs, this.#callers.waitMsMax(caller)),
      slots: ask.slots ?? 1,
      tokens: ask.tokens ?? 0,
      holder: ask.holder ?? null,
      keyId: caller.keyId,
      signer: caller.signer,
      address: call.address.text,
      presence: request,
    } as const;
    const { pool } = caller.entry;
    const isAgain = repeatKey !== null && this.#repeats.isKnown(pool, caller.keyId, repeatKey);
    const verdict = await this.#repeats.acquire(pool, wanted, repeatKey);
    if (verdict.kind === 'refused') return refusalAnswer(verdict);
    // A fresh grant is durable no sooner than the nonce that came with it.
    if (isAgain && caller.hasNonce && !await this.#isKept(verdict)) {
      return this.#turnAway(call, caller, 'storage_unavailable');
    }
    return this.#grantAnswer(verdict, pool);
  }

  /** Whether all that came before is durable, and the grant is one still. */
  async #isKept({ lease }: Granted): Promise<boolean> {
    const { journal, clock } = this.#server.scheduler;
    return await journal.isKept() && isHeld(lease, clock.nowMs());
  }

  #renew(call: Call, slotId: string): Answer | Promise<Answer> {
    const checked = this.#callers.check(call);
    return checked instanceof Promise
      ? checked.then((caller) => this.#renewed(caller, slotId))
      : this.#renewed(checked, slotId);
  }

  #renewed(caller: Checked, slotId: string): Answer {
    if (caller.kind === 'fail') return faultAnswer(caller.code, caller.parts);
    const { scheduler } = this.#server;
    const renewal = scheduler.renew(caller.entry.pool, slotId);
    if (renewal.kind === 'gone') {
      return faultAnswer('not_found', { message: 'No lease of this pool has this slotId.' });
    }
    if (renewal.kind === 'capped') return faultAnswer('capped');
    const leaseDeadline = renewal.lease.dueAtMs + scheduler.clock.shiftMs;
    return jsonAnswer(`{"leaseDeadline":${leaseDeadline}}`);
  }

  #release(call: Call, slotId: string): Answer | Promise<Answer> {
    const checked = this.#callers.check(call);
    return checked instanceof Promise
      ? checked.then((caller) => this.#readReport(call, caller, slotId))
      : this.#readReport(call, checked, slotId);
  }

  #readReport(call: Call, caller: Checked, slotId: string): Answer | Promise<Answer> {
    if (caller.kind === 'fail') return faultAnswer(caller.code, caller.parts);
    const body = call.json(CEILINGS.lockBodyBytes);
    if (!(body instanceof Promise)) return this.#released(caller, slotId, body);
    return body.then((late) =>
      this.#callers.mayGoOn(call, caller)
        ? this.#released(caller, slotId, late)
        : faultAnswer('unauthorized')
    );
  }

  #released(caller: Passed, slotId: string, body: Body | null): Answer {
    let report: ReleaseBody | null = null;
    if (body?.kind === 'too_large') return faultAnswer('payload_too_large');
    if (body?.kind === 'bad') return faultAnswer('invalid_request', { message: body.reason });
    if (body?.kind === 'json') {
      const parsed = ReleaseBody.safeParse(body.value);
      if (!parsed.success) return faultAnswer('invalid_request', complaintOf(parsed.error));
      report = parsed.data;
    }
    const { hints } = caller.entry.spec.rate;
    const outcome = outcomeOf(report, { nowMs: epochMs(this.#server), hints });
    const isReleased = this.#server.scheduler.release(caller.entry.pool, slotId, outcome);
    return jsonAnswer(isReleased ? '{"released":true}' : '{"released":false}');
  }

  /** Refuses an acquire whose caller is known: with the pool's headers, and a row in the log. */
  #turnAway(call: Call, caller: Passed, code: ErrorCode, parts: FaultParts = {}): Answer {
    const { scheduler } = this.#server;
    const attempt = this.#callers.note(call, caller.entry, { code, keyId: caller.keyId });
    const gauge = caller.entry.pool.gauge(scheduler.clock.nowMs());
    return faultAnswer(code, { ...parts, lines: poolLines(gauge, { attempt, queuedMs: 0 }) });
  }

  #grantAnswer({ lease, gauge, queuedMs }: Granted, { settings }: Pool): Answer {
    const { shiftMs } = this.#server.scheduler.clock;
    // All of it is numbers, beside an id of letters that need no escape.
    const body = `{"slotId":"${lease.slotId}","leaseDeadline":${lease.dueAtMs + shiftMs},` +
      `"requestDeadline":${lease.requestDeadlineMs + shiftMs},"termMs":${lease.termMs},` +
      `"renewIntervalMs":${renewIntervalMsOf(lease, settings.lease)},"fence":${lease.fence}}`;
    let headers = JSON_HEADERS + poolLines(gauge, { attempt: lease.attempt, queuedMs });
    // From a deadline that is not a term after the grant nobody can tell when that was.
    if (lease.dueAtMs - lease.grantedAtMs !== lease.termMs) {
      headers += `${LEASE_MS.name}: ${lease.requestDeadlineMs - lease.grantedAtMs}\r\n`;
    }
    return jsonAnswer(body, headers);
  }
}

function isPost(request: Incoming): Answer | null {
  if (request.method === 'POST') return null;
  return faultAnswer('method_not_allowed', wrongMethod(['POST']));
}

function jsonAnswer(body: string, headers = JSON_HEADERS): Answer {
  return { status: 200, headers, body };
}

const JSON_HEADERS = headerText({ 'content-type': JSON_TYPE });
