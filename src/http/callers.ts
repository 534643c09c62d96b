/**
 * Tells for both doors whether a call may pass, and what is answered where it may not. Which policy
 * failed goes into the access log alone; an unknown pool is answered as a wrong key is.
 */
import type { Fail, Judgement } from '../access/gate.ts';
import type { ErrorCode } from '../errors.ts';
import { faultUnder } from '../access/standing.ts';
import { ERRORS } from '../errors.ts';
import { headerLine } from '../http1/answer.ts';
import { log } from '../log.ts';
import { AccessLog } from '../scheduler/access_log.ts';
import type { Entry } from '../scheduler/directory.ts';
import { unsent } from '../store/entry.ts';
import type { Call } from './call.ts';
import type { FaultParts } from './fault.ts';
import { OF_REFUSAL } from './own_headers.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';

const UNKNOWN_POOL_LINE_MS = 60_000;
const FOREIGN_ADDRESS = 'This address may not call this pool.';
const FOREIGN_PAGE = 'A page of another origin may not call this pool.';

export interface Passed {
  readonly kind: 'pass';
  readonly entry: Entry;
  readonly keyId: string | null;
  readonly signer: string | null;
  /** Headers that must not go on: see the gate. */
  readonly carriers: readonly string[];
  /** Whether a nonce was taken, which must be durable before the call goes on. */
  readonly hasNonce: boolean;
}

export interface Failed {
  readonly kind: 'fail';
  readonly code: ErrorCode;
  readonly parts: FaultParts;
}

export type Checked = Passed | Failed;

interface Noted {
  readonly pool: string;
  readonly code: ErrorCode;
  readonly status?: number;
  readonly reason?: string;
  readonly keyId?: string | null;
  /** How long it waited in the queue, whole ms; 0 unless said otherwise. */
  readonly queuedMs?: number;
}

const UNAUTHORIZED: Failed = { kind: 'fail', code: 'unauthorized', parts: {} };
const TOO_LARGE: Failed = { kind: 'fail', code: 'payload_too_large', parts: {} };
const OVERLOADED: Failed = { kind: 'fail', code: 'overloaded', parts: {} };

export class Callers {
  readonly #server: Server;
  readonly #nowhere: AccessLog;
  #unknownToldAtMs = -Infinity;

  constructor(server: Server) {
    this.#server = server;
    this.#nowhere = new AccessLog({ log: () => {} }, server.scheduler.clock);
  }

  /** Answers at once wherever the pool's policies can. */
  check(call: Call): Checked | Promise<Checked> {
    const entry = this.#server.directory.get(call.pool);
    const judged = this.#server.access.gate.judge(entry, call);
    if (!(judged instanceof Promise)) return this.#conclude(call, entry, judged);
    return judged.then((late) => this.#conclude(call, entry, this.#recheck(late, call, entry)));
  }

  /** Whether one that passed may go on after a while, in which the pool may have been changed. */
  mayGoOn(call: Call, passed: Pick<Passed, 'entry' | 'keyId' | 'signer'>): boolean {
    return this.faultOf(call, passed) === null;
  }

  /** What fails of it meanwhile, for the access log; null where it may go on. */
  faultOf(
    { pool, address }: Call,
    { entry, keyId, signer }: Pick<Passed, 'entry' | 'keyId' | 'signer'>,
  ): string | null {
    const now = this.#server.directory.get(pool);
    if (now?.pool !== entry.pool) return 'pool deleted';
    const faultOf = faultUnder(entry.spec.access, now, epochMs(this.#server));
    return faultOf({ keyId, signer, address: address.text });
  }

  /** How long one that passed may wait: its key may expire before. */
  waitMsMax({ entry, keyId }: Passed): number {
    if (keyId === null) return Infinity;
    return Math.max(0, entry.keys.expiresAt(keyId) - epochMs(this.#server));
  }

  /** Notes an attempt in the access log, and returns its id. */
  note(
    call: Call,
    entry: Entry,
    what: Omit<Noted, 'pool'>,
  ): string {
    return this.#write(this.#server.scheduler.log, call, { ...what, pool: entry.spec.name });
  }

  #write(log: AccessLog, call: Call, what: Noted): string {
    const id = this.#server.scheduler.nextAttempt();
    log.noteRefusal({
      id,
      at: epochMs(this.#server),
      pool: what.pool,
      kind: call.door,
      outcome: what.code,
      status: what.status ?? ERRORS[what.code].status,
      reason: what.reason ?? null,
      queuedMs: what.queuedMs ?? 0,
      slots: 0,
      keyId: what.keyId ?? null,
      address: call.address.text,
      holder: null,
      ...(call.door === 'proxy' ? { proxied: unsent(call.method, call.loggedPath) } : {}),
    });
    return id;
  }

  #conclude(call: Call, entry: Entry | undefined, judged: Judgement): Checked | Promise<Checked> {
    if (judged.kind === 'pass' && entry !== undefined) {
      const { keyId, signer, carriers, hasNonce } = judged;
      return { kind: 'pass', entry, keyId, signer, carriers, hasNonce };
    }
    if (judged.kind === 'pass') return UNAUTHORIZED;
    const failed = failedOf(call, judged, entry);
    const { code, parts } = failed;
    const status = parts.status ?? ERRORS[code].status;
    const what = { code, status, reason: judged.reason };
    if (entry !== undefined) this.note(call, entry, what);
    else {
      // Written nowhere, but as much work as for a pool that there is: time must not tell a name.
      this.#write(this.#nowhere, call, { ...what, pool: '' });
      this.#countUnknownPool();
    }
    return this.#slowed(call, failed);
  }

  /** What was right when it was judged may be gone now. */
  #recheck(judged: Judgement, call: Call, entry: Entry | undefined): Judgement {
    if (judged.kind === 'fail' || entry === undefined) return judged;
    const reason = this.faultOf(call, { ...judged, entry });
    return reason === null ? judged : { kind: 'fail', status: 401, reason, isAddressAlone: false };
  }

  #slowed(call: Call, failed: Failed): Failed | Promise<Failed> {
    const { access, scheduler } = this.#server;
    const delayMs = access.slowdown.delayMs(call.address.text, scheduler.clock.nowMs());
    if (delayMs === 0) return failed;
    return new Promise((told) => scheduler.clock.after(delayMs, () => told(failed)));
  }

  /** Calls to unknown pools are counted, and told in one line a minute at the most. */
  #countUnknownPool(): void {
    const unknownPools = ++this.#server.scheduler.log.tally.unknownPools;
    const nowMs = this.#server.scheduler.clock.nowMs();
    if (nowMs - this.#unknownToldAtMs < UNKNOWN_POOL_LINE_MS) return;
    this.#unknownToldAtMs = nowMs;
    log.warn('Calls to unknown pools so far: {count}', { count: unknownPools });
  }
}

function failedOf(
  { door }: Call,
  { status, isAddressAlone }: Fail,
  entry: Entry | undefined,
): Failed {
  // On the lock door, which takes no such body at any time, its size never changes a 401.
  if (status === 413 && door === 'proxy') return TOO_LARGE;
  if (status === 503 && door === 'proxy') return OVERLOADED;
  if (status !== 403) return unauthorized(entry);
  const message = isAddressAlone ? FOREIGN_ADDRESS : FOREIGN_PAGE;
  return { kind: 'fail', code: 'unauthorized', parts: { status, message } };
}

/**
 * Asks for the key as a password where the pool takes one: git and browsers send it only then. A
 * line of its own, since browsers read one challenge a line.
 */
function unauthorized(entry: Entry | undefined): Failed {
  if (!entry?.spec.access.key.authorization.includes('Basic')) return UNAUTHORIZED;
  const challenge = `Basic realm="${entry.spec.name}"`;
  return { ...UNAUTHORIZED, parts: { lines: headerLine([OF_REFUSAL.challenge.name, challenge]) } };
}
