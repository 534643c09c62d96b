/**
 * Whether a refusal means "too many at once" or "too fast": one status says both. Rules are asked
 * in order, and the first that matches decides; what they rest on is the level that was carried
 * lately, what the answer said, and how well the concurrency explanation did so far. It judges
 * only; it moves no limit.
 */
import type { RateReading } from '../outcome.ts';
import type { RefusalKind } from '../settings.ts';

const CARRIED_MS = 10_000;
const EVIDENCE_HALF_LIFE_MS = 60_000;
const EVIDENCE_ENOUGH = 2;
const LONG_HINT_MS = 2000;
/** What a long hint tells of a rate, times the share of the time that the one before it took... */
const HINT_EVIDENCE = 1.5;
/** ...and what each event leaves of it: hints that take over half of the time tell enough. */
const HINT_EVIDENCE_KEPT = 0.6;
const LOW_SHARE = 0.25;
/** Refusals of levels that were carried may come once in so many calls, and so many in advance. */
const CALLS_PER_SURPRISE = 45;
/** Surprises this close are one: another who shares the cap took several slots at once. */
const SURPRISE_SPAN_MS = 2000;
const SURPRISES_OWED_MAX = 2.5;
/**
 * All refused calls together may be one in so many, and so many in advance: a cap that falls
 * refuses a share of the level before the level has followed.
 */
const CALLS_PER_REFUSAL = 40;
const REFUSALS_OWED_MIN = 12;
const REFUSALS_PER_LEVEL = 2;
/** So many calls, each refused with no other in flight, are too fast, not too many... */
const ALONE_ENOUGH = 3;
/** ...where fewer than so many were accepted for each. */
const CALLS_PER_ALONE = 10;
/** Events whose accepted rates agree though their levels differ so much tell of a rate. */
const EVENTS = 4;
const ACCEPTED_MIN = 10;
const EVENT_SPAN_MS_MIN = 1500;
const RATES_AGREE = 1.12;
const LEVELS_DIFFER = 1.3;

export interface Refusal {
  readonly inFlight: number;
  /** No other was in flight with it, from its start to its end. */
  readonly isAlone: boolean;
  readonly reading: RateReading | undefined;
  readonly retryAfterMs: number | undefined;
  readonly kind: RefusalKind;
  readonly isRateLearned: boolean;
  /** What was raised last, where it is not proven yet. */
  readonly trial: 'rate' | 'level' | null;
  readonly isRateBinding: boolean;
  /** The level is neither fixed nor at its minimum. */
  readonly canLower: boolean;
  /** Nothing was accepted since the refusal event before. */
  readonly isRepeated: boolean;
  /** The level was carried before, or one below it was refused as well. */
  readonly isSurprise: boolean;
  /** The level in force, and the starts accepted so far. */
  readonly level: number;
  readonly acceptedTotal: number;
}

export interface Verdict {
  /** `unclear`: one call at a time finds out. */
  readonly about: 'concurrency' | 'rate' | 'unclear';
  readonly because: string;
  /** Accepted starts a second, where the events told it. */
  readonly perSecond?: number;
}

interface RefusalEvent {
  readonly atMs: number;
  /** The mean level in force since the event before. */
  readonly level: number;
  readonly acceptedTotal: number;
  /** What was accepted since the event before; 0 for the first. */
  readonly perSecond: number;
}

const UNCLEAR: Verdict = { about: 'unclear', because: 'refused alone' };

export class Blame {
  #carried = 0;
  #carriedBefore = 0;
  #carriedFromMs = -Infinity;
  #evidence = 0;
  #evidenceAtMs = 0;
  #hintEvidence = 0;
  /** The refusal event before, and what it asked to wait. */
  #refusedAtMs = -Infinity;
  #hintMs = 0;
  #surprisesOwed = 0;
  #surprisedAtMs = -Infinity;
  #refusalsOwed = 0;
  #refusalsOwedMax = REFUSALS_OWED_MIN;
  /** Calls refused with no other in flight, less what was accepted meanwhile. */
  #alone = 0;
  #blamed: Verdict['about'] = 'unclear';
  #events: RefusalEvent[] = [];
  /** Levels in force at the starts since the last event. */
  #levelSum = 0;
  #levelCount = 0;

  /** The most calls in flight that one accepted lately had with it. */
  get carried(): number {
    return Math.max(this.#carried, this.#carriedBefore);
  }

  /** A call was accepted; `isAfterEvent`: it started after the last refusal event. */
  accepted(nowMs: number, inFlight: number, isAfterEvent: boolean): void {
    this.#alone = Math.max(0, this.#alone - 1 / CALLS_PER_ALONE);
    this.#surprisesOwed = Math.max(0, this.#surprisesOwed - 1 / CALLS_PER_SURPRISE);
    this.#refusalsOwed = Math.max(0, this.#refusalsOwed - 1 / CALLS_PER_REFUSAL);
    if (!isAfterEvent) return;
    if (nowMs - this.#carriedFromMs > CARRIED_MS) {
      this.#carriedBefore = nowMs - this.#carriedFromMs > 2 * CARRIED_MS ? 0 : this.#carried;
      this.#carried = 0;
      this.#carriedFromMs = nowMs;
    }
    if (inFlight > this.#carried) this.#carried = inFlight;
  }

  /** A call started with the level at `level`. */
  started(level: number): void {
    this.#levelSum += level;
    this.#levelCount += 1;
  }

  judge(nowMs: number, refusal: Refusal): Verdict {
    const verdict = this.#judge(nowMs, refusal);
    this.#blamed = verdict.about;
    this.#refusedAtMs = nowMs;
    this.#hintMs = refusal.retryAfterMs ?? 0;
    return verdict;
  }

  #judge(nowMs: number, refusal: Refusal): Verdict {
    const { reading, kind } = refusal;
    if (kind !== 'auto') return { about: kind, because: 'the operator set the kind' };
    const scope = reading?.scope?.toLowerCase() ?? '';
    if (scope.includes('concurren')) return concurrency('the answer names concurrency');
    if (/rate|request|token|minute|quota/.test(scope)) return rate('the answer names a rate');
    if (refusal.isAlone) {
      this.#alone += 1;
      const isRate = refusal.isRateLearned || this.#alone > ALONE_ENOUGH - 1;
      return isRate ? rate('refused with no other in flight') : UNCLEAR;
    }
    if (reading?.remaining === 0 || reading?.tokenRemaining === 0) {
      return rate('the headers leave nothing');
    }
    if (refusal.isRateLearned) return this.#judgePaced(refusal);
    if (refusal.trial === 'level') return concurrency('the level was just raised');
    this.#gather(nowMs, refusal);
    if (this.#evidence + this.#hintEvidence >= EVIDENCE_ENOUGH) return rate('hints tell of a rate');
    // Who says when to try again speaks of time: then few events are enough.
    const perSecond = this.#steadyRate(nowMs, refusal);
    if (perSecond === null || !refusal.retryAfterMs) return this.#owe(nowMs, refusal);
    this.#settle();
    return { ...rate('the same rate was accepted at several levels'), perSecond };
  }

  /** With a rate in force, what was raised last is at fault; else what was carried just before. */
  #judgePaced(refusal: Refusal): Verdict {
    const { inFlight, trial, isRateBinding, isRepeated, canLower } = refusal;
    if (!canLower) return rate('no fewer may be in flight');
    if (isRepeated && this.#blamed === 'concurrency') return concurrency('the cut was too small');
    if (trial === 'rate') return rate('the rate was just raised');
    if (trial === 'level') return concurrency('the level was just raised');
    if (!isRateBinding) return concurrency('the rate was not what held back');
    return inFlight <= this.carried
      ? rate('so many were carried just before')
      : concurrency('more in flight than were carried lately');
  }

  /** A cap explains few refusals of levels that it carried; a rate explains many. */
  #owe(nowMs: number, { isSurprise, level }: Refusal): Verdict {
    if (isSurprise) {
      if (nowMs - this.#surprisedAtMs >= SURPRISE_SPAN_MS) {
        this.#surprisesOwed += 1;
        this.#surprisedAtMs = nowMs;
      }
      // What was carried before is no measure any more.
      this.#carried = 0;
      this.#carriedBefore = 0;
    }
    if (this.#refusalsOwed === 0) {
      this.#refusalsOwedMax = Math.max(REFUSALS_OWED_MIN, REFUSALS_PER_LEVEL * level);
    }
    this.#refusalsOwed += 1;
    const isExplained = this.#surprisesOwed < SURPRISES_OWED_MAX &&
      this.#refusalsOwed < this.#refusalsOwedMax;
    if (isExplained) return concurrency('more in flight than it takes');
    this.#settle();
    return rate('fewer in flight did not end the refusals');
  }

  /** A further refused call of a flight that was judged already. */
  refusedAgain(): void {
    this.#refusalsOwed += 1;
  }

  /** The explanation changed: what spoke against the last one is settled. */
  #settle(): void {
    this.#events = [];
    this.#surprisesOwed = 0;
    this.#refusalsOwed = 0;
  }

  /**
   * Under a cap, what is accepted follows the level; under a rate it does not. Where the levels in
   * force before the last events differ and the rates accepted meanwhile agree: that rate.
   */
  #steadyRate(nowMs: number, { acceptedTotal }: Refusal): number | null {
    const latest = this.#events.at(-1);
    const accepted = acceptedTotal - (latest?.acceptedTotal ?? acceptedTotal);
    const spanMs = nowMs - (latest?.atMs ?? nowMs);
    // Events this close are one flight that still settles: neither level nor rate is steady.
    const isSettling = spanMs < EVENT_SPAN_MS_MIN || accepted < ACCEPTED_MIN;
    if (isSettling) this.#events.pop();
    const perSecond = isSettling ? 0 : (accepted * 1000) / spanMs;
    const level = this.#levelSum / Math.max(1, this.#levelCount);
    this.#levelSum = 0;
    this.#levelCount = 0;
    this.#events.push({ atMs: nowMs, level, acceptedTotal, perSecond });
    if (this.#events.length > EVENTS) this.#events.shift();
    for (const count of [2, 3]) {
      const steady = agreedRate(this.#events.slice(-count), count);
      if (steady !== null) return steady;
    }
    return null;
  }

  #gather(nowMs: number, { inFlight, retryAfterMs }: Refusal): void {
    const kept = 0.5 ** ((nowMs - this.#evidenceAtMs) / EVIDENCE_HALF_LIFE_MS);
    this.#evidence *= kept;
    this.#hintEvidence *= Math.min(kept, HINT_EVIDENCE_KEPT);
    this.#evidenceAtMs = nowMs;
    // Full slots may ask to wait as well: it speaks of a rate where it is most of what happens.
    if (retryAfterMs !== undefined && retryAfterMs >= LONG_HINT_MS) {
      const spanMs = Math.max(1, this.#hintMs, nowMs - this.#refusedAtMs);
      this.#hintEvidence += HINT_EVIDENCE * this.#hintMs / spanMs;
    }
    if (inFlight <= LOW_SHARE * this.carried) this.#evidence += 1;
  }
}

function concurrency(because: string): Verdict {
  return { about: 'concurrency', because };
}

function rate(because: string): Verdict {
  return { about: 'rate', because };
}

function agreedRate(events: readonly RefusalEvent[], count: number): number | null {
  if (events.length < count || events.some((event) => event.perSecond === 0)) return null;
  const rates = events.map((event) => event.perSecond);
  if (Math.max(...rates) > RATES_AGREE * Math.min(...rates)) return null;
  const levels = events.map((event) => event.level);
  if (Math.max(...levels) < LEVELS_DIFFER * Math.min(...levels)) return null;
  return rates.reduce((sum, rate) => sum + rate, 0) / count;
}
