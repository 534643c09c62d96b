/**
 * Whether droughts tell of a rate at all. What an upstream refills does not depend on how much it
 * is asked for: where the next cycle was asked for less and, in the same measure, less was accepted
 * in it, something else refused (a fault every half minute, say), and no lower rate would help.
 */

/** What was accepted between two droughts' ends, a second, and the same without the drought. */
export interface Cycle {
  readonly perSecond: number;
  readonly openPerSecond: number;
}

/** Two cycles that were asked for less unlike amounts tell nothing of each other. */
const UNLIKE_SHARE = 0.93;
/** By so much what was accepted may be less than in proportion to what was asked for. */
const SPREAD_SHARE = 0.9;

export class Refill {
  #last: Cycle | null = null;
  #isRefuted = false;

  /** What the last cycle that told something was asked for. */
  get openPerSecond(): number {
    return this.#last?.openPerSecond ?? Infinity;
  }

  /** `rate`: it is what is refilled; `none`: lower rates did not help; `nothing`: no news. */
  judge(cycle: Cycle): 'rate' | 'none' | 'nothing' {
    const last = this.#last;
    if (last === null) return this.#take(cycle);
    const asked = cycle.openPerSecond / last.openPerSecond;
    const accepted = cycle.perSecond / last.perSecond;
    if (asked > UNLIKE_SHARE) {
      const isSame = asked < 1 / UNLIKE_SHARE && accepted > asked * SPREAD_SHARE;
      return this.#isRefuted && isSame ? 'nothing' : this.#take(cycle);
    }
    const isAsAsked = accepted > asked * SPREAD_SHARE && accepted < (1 + asked) / 2;
    if (!isAsAsked) return this.#take(cycle);
    this.#isRefuted = true;
    return 'none';
  }

  #take(cycle: Cycle): 'rate' {
    this.#last = cycle;
    this.#isRefuted = false;
    return 'rate';
  }
}
