/**
 * How the store behaves for now: fair, slow, locked by another process, or down, and what becomes
 * of each write. In calm weather every write succeeds within a few ms.
 */
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

/** What becomes of one write: when it reaches the disk, when that is told, and what is told. */
export interface Fate {
  readonly kind: 'durable' | 'busy' | 'failed' | 'in doubt';
  readonly reachMs: number;
  readonly tellMs: number;
}

export class Weather {
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #tally: Tally;
  #isCalm = false;
  #downUntilMs = -1;
  #busyUntilMs = -1;
  #slowUntilMs = -1;
  /** The last instant at which a write failed or could have failed. */
  troubleAtMs = -Infinity;

  constructor(machine: Machine, random: Random, tally: Tally) {
    this.#machine = machine;
    this.#random = random;
    this.#tally = tally;
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  goDown(spanMs: number): void {
    this.#tally.note('fault: store down for a while');
    this.#downUntilMs = this.#machine.nowMs + spanMs;
  }

  goBusy(spanMs: number): void {
    this.#tally.note('fault: store locked by another process');
    this.#busyUntilMs = this.#machine.nowMs + spanMs;
  }

  goSlow(spanMs: number): void {
    this.#tally.note('fault: store slow for a while');
    this.#slowUntilMs = this.#machine.nowMs + spanMs;
  }

  /** Decides the fate of a write that begins now. */
  fate(): Fate {
    const random = this.#random;
    const { nowMs } = this.#machine;
    const isSlow = !this.#isCalm && nowMs < this.#slowUntilMs;
    const spanMs = isSlow ? random.whole(20, 400) : random.whole(0, 4);
    const reachMs = random.whole(0, spanMs);
    const fate = { reachMs, tellMs: spanMs - reachMs };
    if (this.#isCalm) return { ...fate, kind: 'durable' };
    const kind = this.#kind(nowMs);
    if (isSlow || kind !== 'durable') this.troubleAtMs = nowMs + spanMs;
    if (kind !== 'durable') this.#tally.note(`fault: write ${kind}`);
    return { ...fate, kind };
  }

  #kind(nowMs: number): Fate['kind'] {
    const random = this.#random;
    if (nowMs < this.#downUntilMs) return random.chance(0.1) ? 'in doubt' : 'failed';
    if (nowMs < this.#busyUntilMs) return 'busy';
    if (random.chance(0.01)) return random.pick(['failed', 'in doubt', 'busy']);
    return 'durable';
  }
}
