/**
 * Acquires that may be repeated: a caller that never got the answer asks again under the same key
 * and is told of the same grant, for as long as it is held; while the first still waits, it joins
 * that wait. A key means something only to the pool and the caller key that it came with. Only
 * grants and waits are remembered, so a refusal is asked anew. It decides nothing about slots.
 */
import { CEILINGS } from '../ceilings.ts';
import type { Lease } from '../core/lease.ts';
import { isHeld } from '../core/lease.ts';
import type { Pool } from '../core/pool.ts';
import type { Scheduler } from './scheduler.ts';
import type { Refused, Verdict } from './verdict.ts';
import type { Presence, Request } from './waiters.ts';

/** So many keys are not worth a look at which of them are over. */
const SWEEP_MIN = 1_000;
const REPEAT_KEY = /^[\x21-\x7e]{1,128}$/;

export function isRepeatKey(text: string): boolean {
  return REPEAT_KEY.test(text);
}

/** `asked` until the verdict is told, so that whoever repeats meanwhile counts as there. */
type Known =
  | { readonly kind: 'asked'; readonly verdict: Promise<Verdict>; readonly callers: Sharers }
  | { readonly kind: 'granted'; readonly lease: Lease; readonly queuedMs: number };

/** The verdict that a repeat shares, and how it goes before that. */
interface Joined {
  readonly verdict: Promise<Verdict>;
  readonly leave: () => void;
}

export class Repeats {
  readonly #scheduler: Scheduler;
  /** Oldest first. */
  readonly #known = new Map<string, Known>();
  readonly #keysMax: number;
  #sweepAt: number;

  /** Takes over what restored leases remember. */
  constructor(scheduler: Scheduler, keysMax: number = CEILINGS.repeatKeys) {
    this.#scheduler = scheduler;
    this.#keysMax = keysMax;
    this.#sweepAt = Math.min(keysMax, SWEEP_MIN);
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

  /** Whether what came first under the key is still remembered, so that it may answer for this. */
  isKnown(pool: Pool, keyId: string | null, repeatKey: string): boolean {
    return this.#known.has(nameOf(pool, keyId, repeatKey));
  }

  /** @param repeatKey null where the acquire may not be repeated. */
  acquire(pool: Pool, wanted: Request, repeatKey: string | null): Promise<Verdict> {
    if (repeatKey === null) return this.#scheduler.acquire(pool, wanted);
    const request = { ...wanted, repeatKey };
    const name = nameOf(pool, request.keyId, repeatKey);
    const known = this.#known.get(name);
    const nowMs = this.#scheduler.clock.nowMs();
    if (known?.kind === 'asked') {
      const place = request.waitMs === 0 ? this.#placeOf(pool, request) : null;
      if (place !== null) return Promise.resolve(place);
      const leave = known.callers.join(request.presence);
      if (leave !== null) return this.#share(pool, request, { verdict: known.verdict, leave });
    } else if (known !== undefined && isHeld(known.lease, nowMs)) {
      const { lease, queuedMs } = known;
      const gauge = pool.gauge(nowMs);
      return Promise.resolve({ kind: 'granted', lease, gauge, queuedMs, hasWaited: queuedMs > 0 });
    }
    return this.#ask(pool, name, request);
  }

  /** Waits with the first one, but no longer than the repeat itself asked to. */
  #share(pool: Pool, repeat: Request, joined: Joined): Promise<Verdict> {
    const { clock } = this.#scheduler;
    const sinceMs = clock.nowMs();
    const waitMs = Math.min(repeat.waitMs, pool.settings.queue.timeoutMs);
    return new Promise((tell) => {
      const timer = clock.after(waitMs, () => {
        // Once the first one has left the line, its answer is on the way, and settles both.
        const place = this.#placeOf(pool, repeat);
        if (place === null) return;
        const { attempt, gauge } = place;
        const queuedMs = clock.nowMs() - sinceMs;
        const late = this.#scheduler.timedOut(repeat, pool.name);
        tell({ kind: 'refused', attempt, gauge, queuedMs, ...late });
        joined.leave();
      });
      void joined.verdict.then((told) => {
        timer.cancel();
        tell(told);
      });
    });
  }

  /** What a repeat hears that does not wait itself: where the first one stands in the line. */
  #placeOf(pool: Pool, { keyId, repeatKey }: Request): Refused | null {
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
        retryAfterMs: pool.freeInMs(place - 1),
        gauge: pool.gauge(nowMs),
        queuedMs: nowMs - joinedAtMs,
        place,
      };
    }
    return null;
  }

  #ask(pool: Pool, name: string, request: Request): Promise<Verdict> {
    const callers = new Sharers(request.presence);
    const verdict = this.#scheduler.acquire(pool, { ...request, presence: callers });
    this.#makeRoom();
    const asked: Known = { kind: 'asked', verdict, callers };
    this.#known.delete(name);
    this.#known.set(name, asked);
    void verdict.then((told) => {
      if (this.#known.get(name) !== asked) return;
      if (told.kind === 'refused') this.#known.delete(name);
      else {
        const { lease, queuedMs } = told;
        this.#known.set(name, { kind: 'granted', lease, queuedMs });
      }
    });
    return verdict;
  }

  /** Forgets leases that ended, and at the ceiling the oldest: enough that the next is far. */
  #makeRoom(): void {
    if (this.#known.size < this.#sweepAt) return;
    const isFull = this.#known.size >= this.#keysMax;
    const keptMax = isFull ? this.#keysMax * 0.9 : this.#keysMax;
    for (const [name, known] of this.#known) {
      if (known.kind === 'granted' && !known.lease.isLive) this.#known.delete(name);
    }
    for (const name of this.#known.keys()) {
      if (this.#known.size <= keptMax) break;
      this.#known.delete(name);
    }
    this.#sweepAt = Math.min(this.#keysMax, Math.max(SWEEP_MIN, this.#known.size * 2));
  }
}

/** All who wait for one verdict; the wait ends when the last of them is gone. */
class Sharers implements Presence {
  readonly #gone = new AbortController();
  /** Until it is listened to. */
  #first: Presence | null;
  /** The first is there from the start. */
  #here = 1;

  /** @param first its signal is not touched unless it waits. */
  constructor(first: Presence) {
    this.#first = first;
  }

  /** Asked for by whoever wants to know; the first is listened to from then on. */
  get signal(): AbortSignal {
    const first = this.#first;
    this.#first = null;
    if (first !== null) this.#listen(first);
    return this.#gone.signal;
  }

  get isGone(): boolean {
    return this.#here === (this.#first?.isGone === true ? 1 : 0);
  }

  /** What to call when this one goes; null where all were gone already. */
  join(presence: Presence): (() => void) | null {
    if (this.#gone.signal.aborted) return null;
    this.#here++;
    return this.#listen(presence);
  }

  #listen({ signal }: Presence): () => void {
    let isHere = true;
    const leave = () => {
      if (!isHere) return;
      isHere = false;
      this.#here--;
      if (this.#here === 0) this.#gone.abort();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return leave;
  }
}

function nameOf(pool: Pool, keyId: string | null, repeatKey: string): string {
  return `${pool.name} ${keyId ?? ''} ${repeatKey}`;
}
