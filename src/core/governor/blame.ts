/**
 * Whether a refusal means "too many at once" or "too fast": one status says both. Rules are asked
 * in order, and the first that matches decides; what they rest on is the level that was carried
 * lately, what the answer said, and how well the concurrency explanation did so far. It judges
 * only; it moves no limit.
 */
import type { RateReading } from '../outcome.ts';
import type { RefusalKind } from './governor.ts';

const CARRIED_MS = 10_000;
const EVIDENCE_HALF_LIFE_MS = 60_000;
const EVIDENCE_ENOUGH = 2;
const LONG_HINT_MS = 2000;
const LOW_SHARE = 0.25;
/** Concurrency may cost one refusal event in so many accepted calls, and so many in advance. */
const CALLS_PER_EVENT = 30;
const EVENTS_OWED_MAX = 5;

export interface Refusal {
  readonly inFlight: number;
  readonly reading: RateReading | undefined;
  readonly retryAfterMs: number | undefined;
  readonly kind: RefusalKind;
  readonly isRateLearned: boolean;
}

export interface Verdict {
  readonly about: 'concurrency' | 'rate';
  readonly because: string;
}

export class Blame {
  #carried = 0;
  #carriedBefore = 0;
  #carriedFromMs = -Infinity;
  #evidence = 0;
  #evidenceAtMs = 0;
  #owed = 0;

  /** The most calls in flight that one accepted lately had with it. */
  get carried(): number {
    return Math.max(this.#carried, this.#carriedBefore);
  }

  accepted(nowMs: number, inFlight: number): void {
    if (nowMs - this.#carriedFromMs > CARRIED_MS) {
      this.#carriedBefore = nowMs - this.#carriedFromMs > 2 * CARRIED_MS ? 0 : this.#carried;
      this.#carried = 0;
      this.#carriedFromMs = nowMs;
    }
    if (inFlight > this.#carried) this.#carried = inFlight;
    if (this.#owed > 0) this.#owed = Math.max(0, this.#owed - 1 / CALLS_PER_EVENT);
  }

  judge(nowMs: number, refusal: Refusal): Verdict {
    const { inFlight, reading, kind } = refusal;
    if (kind !== 'auto') return { about: kind, because: 'the operator set the kind' };
    const scope = reading?.scope?.toLowerCase() ?? '';
    if (scope.includes('concurren')) return concurrency('the answer names concurrency');
    if (/rate|request|token|minute|quota/.test(scope)) return rate('the answer names a rate');
    if (inFlight <= 1) return rate('it was refused alone');
    this.#gather(nowMs, refusal);
    if (this.#evidence >= EVIDENCE_ENOUGH) return rate('headers or hints tell of a rate');
    if (refusal.isRateLearned) {
      return inFlight <= this.carried
        ? rate('so many were carried just before')
        : concurrency('more in flight than were carried lately');
    }
    this.#owed += 1;
    if (this.#owed > EVENTS_OWED_MAX) {
      this.#owed = 0;
      return rate('fewer in flight did not end the refusals');
    }
    return concurrency('more in flight than it takes');
  }

  reset(): void {
    this.#evidence = 0;
    this.#owed = 0;
  }

  #gather(nowMs: number, { inFlight, reading, retryAfterMs }: Refusal): void {
    this.#evidence *= 0.5 ** ((nowMs - this.#evidenceAtMs) / EVIDENCE_HALF_LIFE_MS);
    this.#evidenceAtMs = nowMs;
    if (reading?.remaining === 0 || reading?.tokenRemaining === 0) this.#evidence += 2;
    if (retryAfterMs !== undefined && retryAfterMs >= LONG_HINT_MS) this.#evidence += 1;
    if (inFlight <= LOW_SHARE * this.carried) this.#evidence += 1;
  }
}

function concurrency(because: string): Verdict {
  return { about: 'concurrency', because };
}

function rate(because: string): Verdict {
  return { about: 'rate', because };
}
