/**
 * The simulated upstream: a hidden cap, a hidden rate, a service time, and what it says of itself
 * in headers. It knows nothing of governors. A refused call uses up nothing unless the rate rule
 * says that refusals count.
 */
import type { RateReading } from '../../../src/core/outcome.ts';
import { lognormal, type Random, uniform } from './chance.ts';
import { type RateRule, stepAt, type Upstream } from './scenario.ts';

export interface Answer {
  readonly accepted: boolean;
  /** Ms that the upstream takes before the answer leaves it. */
  readonly tookMs: number;
  readonly retryAfterMs?: number;
}

export class SimulatedUpstream {
  #inService = 0;
  #faultAtMs: number;
  #rate: RateMeter | null;
  #spec: Upstream;
  #random: Random;

  constructor(spec: Upstream, random: Random) {
    this.#spec = spec;
    this.#random = random;
    this.#rate = spec.rate === null ? null : makeMeter(spec.rate);
    this.#faultAtMs = spec.faults?.everyMs ?? Infinity;
  }

  /** A call arrives; an accepted one is in service until {@link leave}. */
  arrive(nowMs: number, tokens: number): Answer {
    const { cap, rate, retryAfter, faults } = this.#spec;
    if (faults && nowMs >= this.#faultAtMs) {
      this.#faultAtMs = nowMs + faults.everyMs;
      return { accepted: false, tookMs: 30, retryAfterMs: faults.retryAfterMs };
    }
    const cost = rate?.unit === 'tokens' ? tokens : 1;
    const isFull = cap !== null && this.#inService >= stepAt(cap, nowMs);
    const isOver = !isFull && this.#rate !== null && !this.#rate.has(nowMs, cost);
    if (!isFull && !isOver) {
      this.#rate?.take(nowMs, cost);
      this.#inService += 1;
      return { accepted: true, tookMs: this.#serviceMs(nowMs) };
    }
    if (rate?.refusalsCount) this.#rate?.take(nowMs, cost);
    const tookMs = uniform(this.#random, 0.7, 1.3) * 30;
    if (retryAfter === null || (isFull && rate !== null)) return { accepted: false, tookMs };
    const resetMs = this.#rate?.resetMs(nowMs) ?? 1000;
    const retryAfterMs = retryAfter === 'true' ? Math.ceil(resetMs / 1000) * 1000 : retryAfter;
    return { accepted: false, tookMs, retryAfterMs };
  }

  leave(): void {
    this.#inService -= 1;
  }

  /** The rate headers of an answer that leaves now. */
  headers(nowMs: number): RateReading | undefined {
    const { headers, rate, headerSkewMs = 0 } = this.#spec;
    if (headers === null) return undefined;
    if (headers !== 'true') return headers;
    if (!this.#rate || rate === null) return undefined;
    const limit = rate.limit ?? rate.burst ?? 0;
    const remaining = Math.floor(this.#rate.remaining(nowMs));
    const resetMs = Math.max(0, Math.ceil(this.#rate.resetMs(nowMs) + headerSkewMs));
    return rate.unit === 'tokens'
      ? { tokenLimit: limit, tokenRemaining: remaining, tokenResetMs: resetMs }
      : { limit, remaining, resetMs };
  }

  #serviceMs(nowMs: number): number {
    const { ms, cv, knee } = this.#spec.service;
    let mean = stepAt(ms, nowMs);
    if (knee !== null) {
      const over = Math.max(0, this.#inService - knee) / 40;
      mean *= Math.max(1, this.#inService / knee) * (1 + over * over);
    }
    return Math.max(5, lognormal(this.#random, mean, cv));
  }
}

interface RateMeter {
  has(nowMs: number, cost: number): boolean;
  take(nowMs: number, cost: number): void;
  remaining(nowMs: number): number;
  resetMs(nowMs: number): number;
}

function makeMeter(rule: RateRule): RateMeter {
  const { limit = 0, windowMs = 60_000, phaseMs = 0, perSecond = 0, burst = 0 } = rule;
  if (rule.kind === 'fixed') return new FixedWindow(limit, windowMs, phaseMs);
  return rule.kind === 'sliding' ? new SlidingLog(limit, windowMs) : new Bucket(perSecond, burst);
}

class FixedWindow implements RateMeter {
  #limit: number;
  #windowMs: number;
  #phaseMs: number;
  #used = 0;
  #index = -1;

  constructor(limit: number, windowMs: number, phaseMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#phaseMs = phaseMs;
  }

  has(nowMs: number, cost: number): boolean {
    return this.remaining(nowMs) >= cost;
  }

  take(nowMs: number, cost: number): void {
    this.#turn(nowMs);
    this.#used += cost;
  }

  remaining(nowMs: number): number {
    this.#turn(nowMs);
    return Math.max(0, this.#limit - this.#used);
  }

  resetMs(nowMs: number): number {
    return this.#windowMs - ((nowMs + this.#phaseMs) % this.#windowMs);
  }

  #turn(nowMs: number): void {
    const index = Math.floor((nowMs + this.#phaseMs) / this.#windowMs);
    if (index === this.#index) return;
    this.#index = index;
    this.#used = 0;
  }
}

class SlidingLog implements RateMeter {
  #limit: number;
  #windowMs: number;
  #log: { atMs: number; cost: number }[] = [];
  #first = 0;
  #used = 0;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  has(nowMs: number, cost: number): boolean {
    return this.remaining(nowMs) >= cost;
  }

  take(nowMs: number, cost: number): void {
    this.#log.push({ atMs: nowMs, cost });
    this.#used += cost;
  }

  remaining(nowMs: number): number {
    for (let oldest = this.#log[this.#first]; oldest; oldest = this.#log[this.#first]) {
      if (oldest.atMs > nowMs - this.#windowMs) break;
      this.#used -= oldest.cost;
      this.#first += 1;
    }
    return Math.max(0, this.#limit - this.#used);
  }

  resetMs(nowMs: number): number {
    const oldest = this.#log[this.#first];
    return oldest ? Math.max(0, oldest.atMs + this.#windowMs - nowMs) : 0;
  }
}

class Bucket implements RateMeter {
  #perSecond: number;
  #burst: number;
  #level: number;
  #atMs = 0;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#level = burst;
  }

  has(nowMs: number, cost: number): boolean {
    return this.remaining(nowMs) >= cost;
  }

  take(nowMs: number, cost: number): void {
    this.#level = Math.max(0, this.remaining(nowMs) - cost);
  }

  remaining(nowMs: number): number {
    const gained = ((nowMs - this.#atMs) * this.#perSecond) / 1000;
    this.#level = Math.min(this.#burst, this.#level + gained);
    this.#atMs = nowMs;
    return this.#level;
  }

  resetMs(nowMs: number): number {
    const missing = Math.max(0, 1 - this.remaining(nowMs));
    return (missing * 1000) / this.#perSecond;
  }
}
