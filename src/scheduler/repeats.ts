/**
 * Acquires that may be repeated: a caller that never got the answer asks again under the same key
 * and is told of the same grant, for as long as it is held; while the first still waits, it joins
 * that wait. A key means something only to the pool and the caller key that it came with. Only
 * grants and waits are remembered, so a refusal is asked anew. It decides nothing about slots.
 */
import { CEILINGS } from '../ceilings.ts';
import type { Lease } from '../core/lease.ts';
import type { Pool } from '../core/pool.ts';
import { pause } from './clock.ts';
import type { Scheduler } from './scheduler.ts';
import type { Granted, Verdict } from './verdict.ts';
import type { Request } from './waiters.ts';

/** How soon after the grant a hang-up is looked for. */
const HANG_UP_MS = 1;
const REPEAT_KEY = /^[\x21-\x7e]{1,128}$/;
export const BAD_REPEAT_KEY = {
  message: 'Idempotency-Key must be 1 to 128 visible ASCII characters.',
} as const;

export function isRepeatKey(text: string): boolean {
  return REPEAT_KEY.test(text);
}

type Known =
  | { readonly kind: 'asked'; readonly verdict: Promise<Verdict>; readonly callers: Callers }
  | { readonly kind: 'granted'; readonly lease: Lease; readonly queuedMs: number };

export class Repeats {
  readonly #scheduler: Scheduler;
  /** Oldest first. */
  readonly #known = new Map<string, Known>();
  #sweepAt = 1_000;

  /** Takes over what restored leases remember. */
  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    for (const pool of scheduler.pools.values()) {
      for (const lease of pool.leases.values()) {
        if (lease.repeatKey === undefined) continue;
        const name = nameOf(pool, lease.keyId, lease.repeatKey);
        this.#known.set(name, { kind: 'granted', lease, queuedMs: 0 });
      }
    }
  }

  get size(): number {
    return this.#known.size;
  }

  acquire(pool: Pool, request: Request, repeatKey: string): Promise<Verdict> {
    const name = nameOf(pool, request.keyId, repeatKey);
    const known = this.#known.get(name);
    if (known?.kind === 'asked' && request.waitMs === 0) {
      const place = this.#placeOf(pool, request, repeatKey);
      if (place !== null) return Promise.resolve(place);
    }
    if (known?.kind === 'asked' && known.callers.join(request.signal())) return known.verdict;
    if (known?.kind === 'granted' && known.lease.isLive) {
      const { lease, queuedMs } = known;
      const gauge = pool.gauge(this.#scheduler.clock.nowMs());
      return Promise.resolve({ kind: 'granted', lease, gauge, queuedMs, hasWaited: queuedMs > 0 });
    }
    return this.#ask(pool, name, { ...request, repeatKey });
  }

  /** What a repeat hears that does not wait itself: where the first one stands in the line. */
  #placeOf(pool: Pool, { keyId }: Request, repeatKey: string): Verdict | null {
    let place = 0;
    for (const { ask, joinedAtMs } of pool.queue) {
      place++;
      if (ask.repeatKey !== repeatKey || ask.keyId !== keyId) continue;
      const nowMs = this.#scheduler.clock.nowMs();
      return {
        kind: 'refused',
        attempt: ask.attempt,
        code: 'too_many_requests',
        reason: 'full',
        retryAfterMs: pool.pace.waitMs(place - 1),
        gauge: pool.gauge(nowMs),
        queuedMs: nowMs - joinedAtMs,
        place,
      };
    }
    return null;
  }

  #ask(pool: Pool, name: string, request: Request): Promise<Verdict> {
    const callers = new Callers();
    const verdict = this.#scheduler.acquire(pool, {
      ...request,
      signal: () => {
        callers.join(request.signal());
        return callers.signal;
      },
    });
    this.#makeRoom();
    const asked: Known = { kind: 'asked', verdict, callers };
    this.#known.delete(name);
    this.#known.set(name, asked);
    void verdict.then((told) => {
      if (told.kind === 'granted' && told.hasWaited) void this.#watch(pool, told, callers);
      if (this.#known.get(name) !== asked) return;
      if (told.kind === 'refused') this.#known.delete(name);
      else {
        const { lease, queuedMs } = told;
        this.#known.set(name, { kind: 'granted', lease, queuedMs });
      }
    });
    return verdict;
  }

  /** Gives the slot back where all who asked hung up meanwhile; it is noticed a little later. */
  async #watch(pool: Pool, { lease }: Granted, callers: Callers): Promise<void> {
    await pause(this.#scheduler.clock, HANG_UP_MS);
    if (callers.signal.aborted) {
      this.#scheduler.release(pool, lease.slotId, { kind: 'unknown' });
    }
  }

  /** Forgets leases that ended, and beyond the ceiling the oldest. */
  #makeRoom(): void {
    if (this.#known.size < this.#sweepAt) return;
    for (const [name, known] of this.#known) {
      if (known.kind === 'granted' && !known.lease.isLive) this.#known.delete(name);
    }
    for (const name of this.#known.keys()) {
      if (this.#known.size < CEILINGS.repeatKeys) break;
      this.#known.delete(name);
    }
    this.#sweepAt = Math.min(CEILINGS.repeatKeys, Math.max(1_000, this.#known.size * 2));
  }
}

/** All who wait for one verdict; the wait ends when the last of them is gone. */
class Callers {
  readonly #gone = new AbortController();
  #here = 0;

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** False where all were gone already. */
  join(signal: AbortSignal | undefined): boolean {
    if (this.#gone.signal.aborted) return false;
    this.#here++;
    const leave = () => {
      this.#here--;
      if (this.#here === 0) this.#gone.abort();
    };
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { once: true });
    return true;
  }
}

function nameOf(pool: Pool, keyId: string | null, repeatKey: string): string {
  return `${pool.name} ${keyId ?? ''} ${repeatKey}`;
}
