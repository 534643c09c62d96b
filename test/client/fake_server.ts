/**
 * A server for the client's tests: one pool, leases by the rules of the lock API, on a manual
 * clock. `network` says what becomes of each request and answer on the way.
 */
import type { ManualClock } from './manual_clock.ts';

export interface Way {
  /** Ms that the request takes, and its answer; Infinity: it never arrives. */
  readonly thereMs: number;
  readonly backMs: number;
}

export interface Lease {
  readonly slotId: string;
  readonly key: string | null;
  readonly requestDeadlineMs: number;
  deadlineMs: number;
  state: 'held' | 'released' | 'lapsed';
  report: unknown;
}

export interface Seen {
  readonly verb: string;
  readonly atMs: number;
  readonly body: Record<string, unknown> | null;
  readonly headers: Headers;
}

export class FakeServer {
  termMs = 3_000;
  requestTimeoutMs = 60_000;
  /** Answers of acquires to come, instead of a grant. */
  readonly refusals: Response[] = [];
  /** Answers of releases to come, instead of their own. */
  readonly releaseRefusals: Response[] = [];
  readonly leases: Lease[] = [];
  readonly seen: Seen[] = [];
  isDown = false;
  /** Where a waiting acquire stands, told to those who ask; 0: it does not wait. */
  place = 0;
  /** What a grant tells of its wait. */
  queuedMs = 0;
  way: (verb: string) => Way = () => ({ thereMs: 0, backMs: 0 });
  /** Called at the instant at which a lease ran out. */
  lapsed: (lease: Lease) => void = () => {};
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  readonly fetch = (async (input: string, init: RequestInit): Promise<Response> => {
    const rest = new URL(input).pathname.replace(/^\/pools\/\w+\/lock\//, '');
    const verb = rest.split('/').at(-1) ?? '';
    const { thereMs, backMs } = this.way(verb);
    await this.#travel(thereMs, init.signal);
    if (this.isDown) throw new TypeError('connection refused');
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : null;
    const headers = new Headers(init.headers);
    this.seen.push({ verb, atMs: this.#clock.nowMs(), body, headers });
    const answer = this.#answer(verb, rest, { body, headers });
    await this.#travel(backMs, init.signal);
    return answer;
  }) as typeof fetch;

  #travel(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((done, fail) => {
      signal?.addEventListener('abort', () => fail(signal.reason));
      if (ms !== Infinity) this.#clock.after(ms, done);
    });
  }

  #answer(verb: string, rest: string, request: Pick<Seen, 'body' | 'headers'>): Response {
    if (verb === 'acquire') {
      if (request.headers.has('x-nthpool-no-queue') && this.place > 0) return placed(this.place);
      return this.refusals.shift() ?? this.#grant(request.headers);
    }
    const lease = this.leases.find(({ slotId }) => rest.startsWith(slotId));
    const isHeld = lease?.state === 'held';
    if (verb === 'release') {
      const refused = this.releaseRefusals.shift() ?? refusalOf(request.body);
      if (refused !== null) return refused;
      if (lease !== undefined && isHeld) {
        lease.state = 'released';
        lease.report = request.body;
      }
      return json(200, { released: isHeld });
    }
    if (lease === undefined || !isHeld) return json(404, { error: 'not_found' });
    if (lease.deadlineMs >= lease.requestDeadlineMs) return json(409, { error: 'capped' });
    const extendedMs = Math.min(this.#clock.nowMs() + this.termMs, lease.requestDeadlineMs);
    lease.deadlineMs = Math.max(lease.deadlineMs, extendedMs);
    return json(200, { leaseDeadline: lease.deadlineMs });
  }

  #grant(headers: Headers): Response {
    const key = headers.get('idempotency-key');
    const known = this.leases.find((lease) => lease.key === key && lease.state === 'held');
    const nowMs = this.#clock.nowMs();
    const lease: Lease = known ?? {
      slotId: `slot${this.leases.length}`,
      key,
      requestDeadlineMs: nowMs + this.requestTimeoutMs,
      deadlineMs: nowMs + Math.min(this.termMs, this.requestTimeoutMs),
      state: 'held',
      report: undefined,
    };
    if (known === undefined) {
      this.leases.push(lease);
      this.#watch(lease);
    }
    const isShort = this.requestTimeoutMs < this.termMs;
    return json(200, {
      slotId: lease.slotId,
      leaseDeadline: lease.deadlineMs,
      requestDeadline: lease.requestDeadlineMs,
      termMs: this.termMs,
      renewIntervalMs: this.termMs / 3,
      fence: this.leases.length,
    }, {
      'x-nthpool-queued-ms': String(this.queuedMs),
      ...(isShort ? { 'x-nthpool-lease-ms': String(this.requestTimeoutMs) } : {}),
    });
  }

  #watch(lease: Lease): void {
    this.#clock.after(lease.deadlineMs - this.#clock.nowMs(), () => {
      if (lease.state !== 'held') return;
      if (this.#clock.nowMs() < lease.deadlineMs) return this.#watch(lease);
      lease.state = 'lapsed';
      this.lapsed(lease);
    });
  }
}

/** What the server says to a report that is none; null where it takes it. */
function refusalOf(report: Record<string, unknown> | null): Response | null {
  const { status = 200 } = report ?? {};
  const isTaken = typeof status === 'number' && status >= 100 && status <= 599;
  return isTaken ? null : json(400, { error: 'invalid_request', message: 'status: wrong' });
}

function placed(place: number): Response {
  return json(429, { error: 'too_many_requests', reason: 'full', place });
}

export function json(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers });
}
