/**
 * The changes that a governor made and its host has not stored yet. What is in force is compared
 * after each step, so no change can go untold; the reason is the last one given. It holds as many
 * as are kept of a pool: what a host loses by draining late would not have stayed anyway.
 */
import { shownRate } from './explain.ts';
import { type Change, CHANGES_KEPT, type Start } from './governor.ts';

export interface InForce {
  readonly limit: number;
  readonly perSecond: number | null;
  readonly pausedUntilMs: number;
}

export class ChangeLog {
  #changes: Change[] = [];
  #told: InForce = { limit: 0, perSecond: null, pausedUntilMs: -Infinity };
  #why = '';

  /** What is in force when there is nothing to tell yet. */
  begin(first: InForce): void {
    this.#told = first;
  }

  because(why: string): void {
    this.#why = why;
  }

  compare(nowMs: number, now: InForce, start: Start | null): void {
    const told = this.#told;
    const isSame = now.limit === told.limit && now.perSecond === told.perSecond &&
      now.pausedUntilMs === told.pausedUntilMs;
    if (isSame) return;
    this.#told = now;
    const evidence = start === null ? '' : `a call with ${start.inFlight} in flight`;
    const add = (what: Change['what'], from: number | null, to: number | null) => {
      if (from !== to) this.#add({ atMs: nowMs, what, from, to, why: this.#why, evidence });
    };
    add('limit', told.limit, now.limit);
    add('rpm', perMinute(told.perSecond), perMinute(now.perSecond));
    add('pause', leftMs(told.pausedUntilMs, nowMs), leftMs(now.pausedUntilMs, nowMs));
  }

  drain(): readonly Change[] {
    const drained = this.#changes;
    if (drained.length > 0) this.#changes = [];
    return drained;
  }

  #add(change: Change): void {
    if (this.#changes.length >= CHANGES_KEPT) this.#changes.shift();
    this.#changes.push(change);
  }
}

function perMinute(perSecond: number | null): number | null {
  return perSecond === null ? null : shownRate(perSecond * 60);
}

function leftMs(untilMs: number, nowMs: number): number | null {
  return untilMs > nowMs ? untilMs - nowMs : null;
}
