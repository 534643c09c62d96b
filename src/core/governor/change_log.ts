/**
 * The changes that a governor made and its host has not stored yet. What is in force is compared
 * after each step, so no change can go untold. Several sources set a number together, and the one
 * that moved it says why: for what was learned that is what was given as the reason in this step,
 * while headers tell it by what they said before. What headers say wobbles, so a rate of theirs is
 * told once it is a tenth off what was told, and their shutting where it lasts for seconds. It
 * holds as many as are kept of a pool: what a host loses by draining late would not have stayed.
 */
import { shownRate } from './explain.ts';
import { type Change, CHANGES_KEPT, type Start } from './governor.ts';

const TOLD_SHARE = 0.1;
const TOLD_SHUT_MS_MIN = 5000;
/** One call at a time holds beyond now, and less than what holds until an instant. */
const ONE_AT_A_TIME_MS = 0.5;

/** Who sets a number; `limit` is set by one alone. */
export type Source = 'limit' | 'operator' | 'learned' | 'headers' | 'pause' | 'scout';
const SOURCES: readonly Source[] = ['limit', 'operator', 'learned', 'headers', 'pause', 'scout'];

export interface InForce {
  readonly limit: number;
  /** Starts and tokens a minute by their source; Infinity where it sets none. */
  readonly operatorRpm: number;
  readonly operatorTpm: number;
  readonly learnedRpm: number;
  readonly headerRpm: number;
  readonly headerTpm: number;
  readonly areHeadersTrusted: boolean;
  /** Until when the upstream asked to hold back, and until when its headers leave nothing. */
  readonly pausedUntilMs: number;
  readonly shutUntilMs: number;
  readonly isOneAtATime: boolean;
}

const NOTHING: InForce = {
  limit: 0,
  operatorRpm: Infinity,
  operatorTpm: Infinity,
  learnedRpm: Infinity,
  headerRpm: Infinity,
  headerTpm: Infinity,
  areHeadersTrusted: true,
  pausedUntilMs: -Infinity,
  shutUntilMs: -Infinity,
  isOneAtATime: false,
};

/** What one source sets a number to, of several whose least is in force. */
interface Part {
  readonly source: Source;
  readonly from: number;
  readonly to: number;
  /** Why, where no reason was given in this step. */
  readonly why?: string;
}

export class ChangeLog {
  #changes: Change[] = [];
  #told = NOTHING;
  /** Reasons given since the last comparison. */
  readonly #whys = new Map<Source, string>();

  /** What is in force when there is nothing to tell yet. */
  begin(first: InForce): void {
    this.#told = first;
  }

  /** Why what these set is about to change, or just did; all of them where none is named. */
  because(why: string, ...sources: readonly Source[]): void {
    for (const source of sources.length === 0 ? SOURCES : sources) {
      const given = this.#whys.get(source);
      this.#whys.set(source, given === undefined ? why : `${given}; ${why}`);
    }
  }

  /** Reasons were given that wait for a comparison. */
  get isDue(): boolean {
    return this.#whys.size > 0;
  }

  compare(nowMs: number, inForce: InForce, start: Start | null): void {
    // It mostly is the same, and each call's end asks.
    if (!isSame(this.#told, inForce)) this.#note(nowMs, inForce, start);
    this.#whys.clear();
  }

  #note(nowMs: number, inForce: InForce, start: Start | null): void {
    const told = this.#told;
    const now = steadied(nowMs, told, inForce);
    if (isSame(told, now)) return;
    this.#told = now;
    const evidence = start === null ? '' : `a call with ${start.inFlight} in flight`;
    const add = (what: Change['what'], ends: [number | null, number | null], parts: Part[]) => {
      const [from, to] = ends;
      if (from === to) return;
      const { source, why: own = '' } = mover(parts);
      const why = this.#whys.get(source) ?? own;
      this.tell({ atMs: nowMs, what, from, to, why, evidence });
    };
    const limit: Part = { source: 'limit', from: told.limit, to: now.limit };
    add('limit', [told.limit, now.limit], [limit]);
    add('rpm', [rpmOf(told), rpmOf(now)], rpmParts(told, now));
    add('tpm', [tpmOf(told), tpmOf(now)], tpmParts(told, now));
    const trust: Part = {
      source: 'headers',
      from: trustOf(told),
      to: trustOf(now),
      why: trustWhy(told, now) ?? '',
    };
    add('headers', [trust.from, trust.to], [trust]);
    const isShut = inForce.shutUntilMs > nowMs;
    const pauses = pauseParts(nowMs, { told, now, isShut });
    add('pause', [pauseOf(told, nowMs), pauseOf(now, nowMs)], pauses);
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
  return now.limit === told.limit && now.operatorRpm === told.operatorRpm &&
    now.operatorTpm === told.operatorTpm && now.learnedRpm === told.learnedRpm &&
    now.headerRpm === told.headerRpm && now.headerTpm === told.headerTpm &&
    now.areHeadersTrusted === told.areHeadersTrusted &&
    now.pausedUntilMs === told.pausedUntilMs && now.shutUntilMs === told.shutUntilMs &&
    now.isOneAtATime === told.isOneAtATime;
}

/** Whoever moved the least of all: what is the least now, or what held it down before. */
function mover(parts: readonly Part[]): Part {
  const from = Math.min(...parts.map((part) => part.from));
  const to = Math.min(...parts.map((part) => part.to));
  return parts.find((part) => to < from ? part.to === to : part.from === from)!;
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

function rpmOf({ operatorRpm, learnedRpm, headerRpm }: InForce): number | null {
  return rateOf(Math.min(operatorRpm, learnedRpm, headerRpm));
}

function tpmOf({ operatorTpm, headerTpm }: InForce): number | null {
  return rateOf(Math.min(operatorTpm, headerTpm));
}

function rateOf(perMinute: number): number | null {
  return perMinute === Infinity ? null : shownRate(perMinute);
}

function rpmParts(told: InForce, now: InForce): Part[] {
  const why = trustWhy(told, now) ?? headerRateWhy(now.headerRpm);
  return [
    { source: 'operator', from: told.operatorRpm, to: now.operatorRpm },
    { source: 'learned', from: told.learnedRpm, to: now.learnedRpm },
    { source: 'headers', from: told.headerRpm, to: now.headerRpm, why },
  ];
}

function tpmParts(told: InForce, now: InForce): Part[] {
  const why = headerRateWhy(now.headerTpm);
  return [
    { source: 'operator', from: told.operatorTpm, to: now.operatorTpm },
    { source: 'headers', from: told.headerTpm, to: now.headerTpm, why },
  ];
}

function headerRateWhy(now: number): string {
  return now === Infinity
    ? "the upstream's headers tell of a window that sets no pace"
    : "the upstream's headers say so";
}

function trustOf({ areHeadersTrusted }: InForce): number {
  return areHeadersTrusted ? 1 : 0;
}

function trustWhy(told: InForce, now: InForce): string | null {
  if (told.areHeadersTrusted === now.areHeadersTrusted) return null;
  return now.areHeadersTrusted
    ? "the upstream's headers are believed again"
    : "refused though the upstream's headers left plenty: they are not believed";
}

/** What holds back, as less the longer it does; what is over by now is all the same. */
function pauseParts(
  nowMs: number,
  { told, now, isShut }: { told: InForce; now: InForce; isShut: boolean },
): Part[] {
  const until = (untilMs: number) => -Math.max(untilMs, nowMs);
  const scout = ({ isOneAtATime }: InForce) =>
    until(isOneAtATime ? nowMs + ONE_AT_A_TIME_MS : nowMs);
  const some = isShut ? 'leave some sooner than told' : 'leave some again';
  const why = now.shutUntilMs > told.shutUntilMs
    ? "the upstream's headers leave nothing"
    : trustWhy(told, now) ?? `the upstream's headers ${some}`;
  return [
    { source: 'pause', from: until(told.pausedUntilMs), to: until(now.pausedUntilMs) },
    { source: 'headers', from: until(told.shutUntilMs), to: until(now.shutUntilMs), why },
    { source: 'scout', from: scout(told), to: scout(now) },
  ];
}

/** While one call at a time finds out when the upstream takes calls again, nobody knows the end. */
function pauseOf({ pausedUntilMs, shutUntilMs, isOneAtATime }: InForce, nowMs: number) {
  const untilMs = Math.max(pausedUntilMs, shutUntilMs);
  if (untilMs > nowMs) return pauseLeft(untilMs, nowMs);
  return isOneAtATime ? null : 0;
}
