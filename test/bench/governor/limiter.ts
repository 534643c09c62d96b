/**
 * What the simulator needs of a limiter: the part of the governor's contract that a pool calls.
 * The shipped governor and the reference limiters are all driven through it, by one gate.
 */
import type { Outcome } from '../../../src/core/outcome.ts';
import type { Opening, Start } from '../../../src/core/governor/governor.ts';
import type { Random } from './chance.ts';

export interface Limiter {
  readonly limit: number;
  readonly dueAtMs: number;
  opening(nowMs: number, tokens: number, ahead: number): Opening;
  started(nowMs: number, start: Start): void;
  ended(nowMs: number, start: Start, outcome: Outcome): void;
  advance(nowMs: number): void;
  /** What the limiter would store, where it survives a restart. */
  save?(nowMs: number): unknown;
}

export interface LimiterOptions {
  readonly nowMs: number;
  readonly random: Random;
  readonly saved?: unknown;
}

export type MakeLimiter = (options: LimiterOptions) => Limiter;
