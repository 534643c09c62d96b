/**
 * What the reference limiters share: they bound calls in flight, and learn at the end of each. A
 * reference says what it does with one ended call; all else here is the plain limiter. Minimums are
 * 1, more favourable to them than their defaults.
 */
import type { Outcome } from '../../../../src/core/outcome.ts';
import type { Opening, Start } from '../../../../src/core/governor/governor.ts';
import type { Limiter } from '../limiter.ts';

export interface Sample {
  readonly nowMs: number;
  readonly rttMs: number;
  readonly inFlight: number;
  readonly isRefused: boolean;
}

export abstract class Reference implements Limiter {
  dueAtMs = Infinity;
  protected level: number;

  constructor(level: number) {
    this.level = level;
  }

  get limit(): number {
    return Math.floor(this.level);
  }

  opening(_nowMs: number): Opening {
    return { kind: 'open' };
  }

  started(_nowMs: number): void {}

  ended(nowMs: number, start: Start, outcome: Outcome): void {
    if (outcome.kind !== 'ok' && outcome.kind !== 'throttled') return;
    this.sample({
      nowMs,
      rttMs: Math.max(1, nowMs - start.atMs),
      inFlight: start.inFlight,
      isRefused: outcome.kind === 'throttled',
    });
  }

  advance(_nowMs: number): void {}

  protected abstract sample(sample: Sample): void;
}

/** No limiter, or a fixed one: only the workers' own back-off reacts. */
export class Constant extends Reference {
  protected sample(): void {}
}

export function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
