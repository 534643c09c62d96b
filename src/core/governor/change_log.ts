/**
 * The changes that a governor made and its host has not stored yet. What is in force is compared
 * after each step, so no change can go untold; the reason is the last one given. What headers say
 * wobbles, so a rate of theirs is told once it is a tenth off what was told, and their shutting
 * where it lasts for seconds. It holds as many as are kept of a pool: what a host loses by draining
 * late would not have stayed anyway.
 */
import { shownRate } from './explain.ts';
import { type Change, CHANGES_KEPT, type Start } from './governor.ts';

const TOLD_SHARE = 0.1;
const TOLD_SHUT_MS_MIN = 5000;

export interface InForce {
  readonly limit: number;
  /** Starts and tokens a minute, by the operator or learned; Infinity where there is no rate. */
  readonly rpm: number;
  readonly tpm: number;
  /** The same by the upstream's headers. */
  readonly headerRpm: number;
  readonly headerTpm: number;
  /** Until when the upstream asked to hold back, and until when its headers leave nothing. */
  readonly pausedUntilMs: number;
  readonly shutUntilMs: number;
  readonly isOneAtATime: boolean;
}

const NOTHING: InForce = {
  limit: 0,
  rpm: Infinity,
  tpm: Infinity,
  headerRpm: Infinity,
  headerTpm: Infinity,
  pausedUntilMs: -Infinity,
  shutUntilMs: -Infinity,
  isOneAtATime: false,
};

export class ChangeLog {
  #changes: Change[] = [];
  #told = NOTHING;
  #why = '';

  /** What is in force when there is nothing to tell yet. */
  begin(first: InForce): void {
    this.#told = first;
  }

  because(why: string): void {
    this.#why = why;
  }

  compare(nowMs: number, inForce: InForce, start: Start | null): void {
    const told = this.#told;
    // It mostly is the same, and each call's end asks.
    if (isSame(told, inForce)) return;
    const now = steadied(nowMs, told, inForce);
    if (isSame(told, now)) return;
    this.#told = now;
    const evidence = start === null ? '' : `a call with ${start.inFlight} in flight`;
    const add = (what: Change['what'], from: number | null, to: number | null, why: string) => {
      if (from !== to) this.tell({ atMs: nowMs, what, from, to, why, evidence });
    };
    const rateWhy = (before: number, after: number) =>
      before === after || after === Infinity ? this.#why : "the upstream's headers say so";
    add('limit', told.limit, now.limit, this.#why);
    add('rpm', rpmOf(told), rpmOf(now), rateWhy(told.headerRpm, now.headerRpm));
    add('tpm', tpmOf(told), tpmOf(now), rateWhy(told.headerTpm, now.headerTpm));
    add('pause', pauseOf(told, nowMs), pauseOf(now, nowMs), pauseWhy(told, now) ?? this.#why);
  }

  tell(change: Change): void {
    if (this.#changes.length >= CHANGES_KEPT) this.#changes.shift();
    this.#changes.push(change);
  }

  drain(): readonly Change[] {
    const drained = this.#changes;
    if (drained.length > 0) this.#changes = [];
    return drained;
  }
}

/** A pause that ends at `untilMs`, as a {@link Change} has it. */
export function pauseLeft(untilMs: number, nowMs: number): number | null {
  return untilMs === Infinity ? null : Math.max(0, untilMs - nowMs);
}

function isSame(told: InForce, now: InForce): boolean {
  return now.limit === told.limit && now.rpm === told.rpm && now.tpm === told.tpm &&
    now.headerRpm === told.headerRpm && now.headerTpm === told.headerTpm &&
    now.pausedUntilMs === told.pausedUntilMs && now.shutUntilMs === told.shutUntilMs &&
    now.isOneAtATime === told.isOneAtATime;
}

/** What is in force, but for what headers say a little otherwise than it was told. */
function steadied(nowMs: number, told: InForce, now: InForce): InForce {
  const headerRpm = steadyRate(told.headerRpm, now.headerRpm);
  const headerTpm = steadyRate(told.headerTpm, now.headerTpm);
  const shutUntilMs = steadyShut(nowMs, told.shutUntilMs, now.shutUntilMs);
  return { ...now, headerRpm, headerTpm, shutUntilMs };
}

function steadyRate(told: number, now: number): number {
  return Math.abs(now - told) < TOLD_SHARE * told ? told : now;
}

function steadyShut(nowMs: number, toldMs: number, untilMs: number): number {
  if (toldMs > nowMs && Math.abs(untilMs - toldMs) < TOLD_SHUT_MS_MIN) return toldMs;
  return untilMs - nowMs < TOLD_SHUT_MS_MIN ? -Infinity : untilMs;
}

function rpmOf({ rpm, headerRpm }: InForce): number | null {
  return rateOf(Math.min(rpm, headerRpm));
}

function tpmOf({ tpm, headerTpm }: InForce): number | null {
  return rateOf(Math.min(tpm, headerTpm));
}

function rateOf(perMinute: number): number | null {
  return perMinute === Infinity ? null : shownRate(perMinute);
}

/** Why a pause is another than it was told; null where that is not by what ends at an instant. */
function pauseWhy(told: InForce, now: InForce): string | null {
  if (now.shutUntilMs > Math.max(told.shutUntilMs, now.pausedUntilMs)) {
    return "the upstream's headers leave nothing";
  }
  const isShorter = now.shutUntilMs < told.shutUntilMs && told.pausedUntilMs === now.pausedUntilMs;
  if (isShorter) return "the upstream's headers leave some again";
  return now.pausedUntilMs > told.pausedUntilMs ? 'the upstream asked to hold back' : null;
}

/** While one call at a time finds out when the upstream takes calls again, nobody knows the end. */
function pauseOf({ pausedUntilMs, shutUntilMs, isOneAtATime }: InForce, nowMs: number) {
  const untilMs = Math.max(pausedUntilMs, shutUntilMs);
  if (untilMs > nowMs) return pauseLeft(untilMs, nowMs);
  return isOneAtATime ? null : 0;
}
