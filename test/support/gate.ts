/**
 * A governor whose gate and limit the test moves by hand, and which keeps what it was told.
 */
import type {
  Governor,
  GovernorSettings,
  Opening,
  Saved,
  Start,
} from '../../src/core/governor/governor.ts';
import type { Outcome } from '../../src/core/outcome.ts';

export class Gate implements Governor {
  limit: number;
  /** The gate is shut before this instant. */
  openAtMs = -Infinity;
  /** Until then it is sure to be shut, whatever ends; Infinity: as long as it is. */
  firmUntilMs = Infinity;
  dueAtMs = Infinity;
  readonly starts: Start[] = [];
  readonly ends: { start: Start; outcome: Outcome }[] = [];
  /** What happens when told of an end. */
  onEnd: () => void = () => {};

  constructor(limit: number) {
    this.limit = limit;
  }

  opening(nowMs: number): Opening {
    if (nowMs >= this.openAtMs) return { kind: 'open' };
    return { kind: 'shut', reason: 'rate', atMs: this.openAtMs };
  }

  firmAtMs(nowMs: number): number {
    return Math.max(nowMs, Math.min(this.openAtMs, this.firmUntilMs));
  }

  started(_nowMs: number, start: Start): void {
    this.starts.push(start);
  }

  ended(_nowMs: number, start: Start, outcome: Outcome): void {
    this.ends.push({ start, outcome });
    this.onEnd();
  }

  advance(nowMs: number): void {
    if (this.dueAtMs <= nowMs) this.dueAtMs = Infinity;
  }

  configure(_nowMs: number, { concurrency }: GovernorSettings): void {
    this.limit = concurrency.limit;
  }

  forget(): void {
    this.openAtMs = -Infinity;
  }

  restoreStarts(): void {}

  requestRate(): null {
    return null;
  }

  status(): never {
    throw new Error('a gate has no status');
  }

  tell(): void {}

  drainChanges(): [] {
    return [];
  }

  save(nowMs: number): Saved {
    return { atMs: nowMs, level: this.limit, perSecond: null, cycleMs: 0, pausedUntilMs: null };
  }
}
