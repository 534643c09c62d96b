/**
 * What the governor's tests share: settings, a fixed epoch, and a driver that starts and ends calls
 * by hand. It holds no expectations.
 */
import type { Governor, GovernorSettings, Start } from '../../../src/core/governor/governor.ts';
import { makeGovernor } from '../../../src/core/governor/governors.ts';
import type { GovernorOptions } from '../../../src/core/governor/pool_governor.ts';
import type { Outcome } from '../../../src/core/outcome.ts';

export const T0 = 1_800_000_000_000;
export const OK: Outcome = { kind: 'ok', status: 200 };
export const THROTTLED: Outcome = { kind: 'throttled', status: 429 };

interface Changes {
  readonly concurrency?: Partial<GovernorSettings['concurrency']>;
  readonly rate?: Partial<GovernorSettings['rate']>;
}

export function settings({ concurrency, rate }: Changes = {}): GovernorSettings {
  return {
    concurrency: { limit: 4, mode: 'adaptive', min: 1, max: 64, ...concurrency },
    rate: {
      rpm: null,
      tpm: null,
      burst: null,
      learn: true,
      kind: 'auto',
      maxPauseMs: 300_000,
      ...rate,
    },
  };
}

/** A governor with its clock and its calls in flight. */
export class Driver {
  nowMs = T0;
  governor: Governor;
  #sequence = 0;
  readonly #running = new Set<Start>();

  constructor(changes: Changes = {}, options: Partial<GovernorOptions> = {}) {
    this.governor = makeGovernor(settings(changes), { nowMs: T0, random: () => 0, ...options });
  }

  get inFlight(): number {
    return this.#running.size;
  }

  start(tokens = 0): Start {
    const start: Start = {
      sequence: ++this.#sequence,
      inFlight: this.#running.size + 1,
      atMs: this.nowMs,
      tokens,
    };
    this.#running.add(start);
    this.governor.started(this.nowMs, start);
    return start;
  }

  end(start: Start, outcome: Outcome = OK): void {
    this.#running.delete(start);
    this.governor.ended(this.nowMs, start, outcome);
  }

  /** Ends the call that runs longest, where one does. */
  endOldest(outcome: Outcome): void {
    const [oldest] = this.#running;
    if (oldest !== undefined) this.end(oldest, outcome);
  }

  /** Lets time pass, and does what comes due by it. */
  pass(ms: number): void {
    this.nowMs += ms;
    if (this.governor.dueAtMs <= this.nowMs) this.governor.advance(this.nowMs);
  }

  /** Starts as many as the limit and the gates allow now. */
  fill(): Start[] {
    const starts: Start[] = [];
    while (this.inFlight < this.governor.limit && this.isOpen()) starts.push(this.start());
    return starts;
  }

  isOpen(tokens = 0): boolean {
    return this.governor.opening(this.nowMs, tokens, 0).kind === 'open';
  }

  /** When the gate opens for a start with `ahead` before it. */
  opensAtMs(ahead = 0, tokens = 0): number {
    const opening = this.governor.opening(this.nowMs, tokens, ahead);
    return opening.kind === 'open' ? this.nowMs : opening.atMs;
  }

  /** Full rounds of calls that all end in `outcome`, one round each `roundMs`. */
  rounds(count: number, roundMs: number, outcome: Outcome = OK): void {
    for (let round = 0; round < count; round += 1) {
      const starts = this.fill();
      this.nowMs += roundMs;
      for (const start of starts) this.end(start, outcome);
    }
  }
}
