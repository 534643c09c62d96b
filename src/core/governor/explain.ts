/**
 * Why a pool holds back, in plain words. While starts must wait it is the gate that makes them wait
 * longest, which is the one that a refused caller is told; else what limits them most. It reads a
 * snapshot and decides nothing.
 */
import type { GovernorStatus } from './governor.ts';
import type { SpacingCause } from './spacing.ts';

export interface Snapshot {
  readonly nowMs: number;
  readonly mode: 'fixed' | 'adaptive';
  readonly max: number;
  readonly level: {
    readonly value: number;
    readonly ceiling: number;
    readonly seededFrom: number | null;
    readonly isTrial: boolean;
    readonly isAtCeiling: boolean;
    readonly heldFromMs: number;
    readonly probeAtMs: number;
    readonly trialAtMs: number;
  };
  /** So many more calls have to succeed before a trial. */
  readonly probeCallsLeft: number;
  readonly isStrained: boolean;
  readonly pause: { readonly fromMs: number; readonly untilMs: number };
  readonly scout: {
    readonly sinceMs: number;
    /** When the next start may go. */
    readonly atMs: number;
    readonly isInFlight: boolean;
    readonly isQuota: boolean;
    readonly isAfterPause: boolean;
  };
  readonly spacing: {
    readonly cause: SpacingCause;
    readonly fromMs: number;
    readonly atMs: number;
  };
  /** By source: units a minute, null where it sets none, and when it lets the next start go. */
  readonly learned: Rate & { readonly growsAtMs: number };
  readonly headers: Rate & { readonly isExhausted: boolean };
  readonly operator: Rate;
  /** The same for a start that brings tokens; what is learned is of starts alone. */
  readonly headerTokens: Rate;
  readonly operatorTokens: Rate;
  /** Since when these settings are in force; before it, nothing was. */
  readonly beganAtMs: number;
}

interface Rate {
  readonly perMinute: number | null;
  readonly sinceMs: number;
  readonly atMs: number;
}

type Explanation = Pick<
  GovernorStatus,
  'about' | 'reason' | 'source' | 'since' | 'nextChangeAt'
>;

/** A gate that is shut until `atMs`, or open where that is past. */
type Hold = Omit<Explanation, 'nextChangeAt'> & { readonly atMs: number };

export function explain(snapshot: Snapshot): Explanation {
  const { nowMs } = snapshot;
  return longest(nowMs, [...holds(snapshot), ...rates(snapshot)]) ?? explainTry(snapshot) ??
    longest(nowMs, tokenRates(snapshot)) ?? explainRate(snapshot) ?? explainLevel(snapshot);
}

/** A rate as people are shown it: whole from 100 a minute on, else of three digits. */
export function shownRate(perMinute: number): number {
  return perMinute >= 100 ? Math.round(perMinute) : Number(perMinute.toPrecision(3));
}

/** Of several that are shut for as long, the one that a caller meets first. */
function longest(nowMs: number, gates: readonly Hold[]): Explanation | null {
  const latestMs = Math.max(...gates.map(({ atMs }) => atMs));
  const held = gates.find(({ atMs }) => atMs === latestMs);
  if (held === undefined || latestMs <= nowMs) return null;
  const { atMs, ...told } = held;
  return { ...told, nextChangeAt: Math.ceil(atMs) };
}

function holds({ nowMs, pause, scout }: Snapshot): Hold[] {
  const about = 'pause';
  return [{
    about,
    reason: `paused: the upstream asked to hold back for ${seconds(pause.untilMs - nowMs)} more`,
    source: 'header',
    since: pause.fromMs,
    atMs: pause.untilMs,
  }, {
    about,
    reason: scoutReason(scout, `next try in ${seconds(scout.atMs - nowMs)}`),
    source: 'learned',
    since: scout.sinceMs,
    atMs: scout.sinceMs === Infinity ? -Infinity : scout.atMs,
  }];
}

const SPACING_REASONS: Readonly<Record<SpacingCause, string>> = {
  hold: 'calls are taken again: they start at the pace from before the refusals',
  trial: 'one more in flight is tried: calls start one by one meanwhile',
};

function rates({ nowMs, spacing, operator, learned, headers }: Snapshot): Hold[] {
  const about = 'rate';
  const leftFor = seconds(headers.atMs - nowMs);
  return [operatorHold(nowMs, operator, 'starts'), {
    about,
    reason: SPACING_REASONS[spacing.cause],
    source: 'learned',
    since: spacing.fromMs,
    atMs: spacing.atMs,
  }, {
    about,
    reason: learnedReason(learned),
    source: 'learned',
    since: learned.sinceMs,
    atMs: learned.atMs,
  }, {
    about,
    reason: headers.isExhausted
      ? `the upstream's headers leave nothing for ${leftFor}`
      : headerReason(headers),
    source: 'header',
    since: headers.sinceMs,
    atMs: headers.atMs,
  }];
}

function tokenRates({ nowMs, operatorTokens, headerTokens }: Snapshot): Hold[] {
  return [operatorHold(nowMs, operatorTokens, 'tokens'), {
    about: 'rate',
    reason: `the upstream's headers leave no tokens for ${seconds(headerTokens.atMs - nowMs)}`,
    source: 'header',
    since: headerTokens.sinceMs,
    atMs: headerTokens.atMs,
  }];
}

function operatorHold(
  nowMs: number,
  { perMinute, sinceMs, atMs }: Rate,
  unit: 'starts' | 'tokens',
): Hold {
  const rate = `the operator's rate of ${perMinute} ${unit} a minute`;
  const reason = `${rate} leaves none for ${seconds(atMs - nowMs)}`;
  return { about: 'rate', reason, source: 'operator', since: sinceMs, atMs };
}

/** One call at a time, and nothing but a call, or the end of one, is waited for. */
function explainTry({ scout }: Snapshot): Explanation | null {
  if (scout.sinceMs === Infinity) return null;
  const reason = scoutReason(scout, 'the next call is the try');
  return { about: 'pause', reason, source: 'learned', since: scout.sinceMs, nextChangeAt: null };
}

function scoutReason(scout: Snapshot['scout'], next: string): string {
  const { isAfterPause, isQuota, isInFlight } = scout;
  const after = isAfterPause ? 'after the pause' : 'refused';
  const why = isQuota && !isAfterPause ? 'quota used up:' : `${after}: one call at a time,`;
  return `${why} ${isInFlight ? 'a try is in flight' : next}`;
}

function learnedReason({ perMinute }: Rate): string {
  return `rate learned: the upstream takes about ${shownRate(perMinute ?? 0)} starts a minute`;
}

function headerReason({ perMinute }: Rate): string {
  return perMinute === null
    ? "the upstream's headers pace the starts"
    : `the upstream's headers allow ${shownRate(perMinute)} starts a minute`;
}

/** A rate that lets the next start go is still what limits most. */
function explainRate({ nowMs, learned, headers, operator }: Snapshot): Explanation | null {
  const rpmOf = ({ perMinute }: Rate) => perMinute ?? Infinity;
  const lowest = Math.min(rpmOf(learned), rpmOf(headers), rpmOf(operator));
  if (lowest === Infinity || lowest === operator.perMinute) return null;
  const about = 'rate';
  if (lowest === learned.perMinute) {
    return {
      about,
      reason: learnedReason(learned),
      source: 'learned',
      since: learned.sinceMs,
      nextChangeAt: learned.growsAtMs > nowMs ? Math.ceil(learned.growsAtMs) : null,
    };
  }
  const reason = headerReason(headers);
  return { about, reason, source: 'header', since: headers.sinceMs, nextChangeAt: null };
}

function explainLevel(snapshot: Snapshot): Explanation {
  const { nowMs, mode, level, max, isStrained, beganAtMs } = snapshot;
  const { value, ceiling, isTrial, isAtCeiling, seededFrom, probeAtMs, trialAtMs } = level;
  const since = Math.max(level.heldFromMs, beganAtMs);
  const told = (source: Explanation['source'], reason: string): Explanation => (
    { about: 'slots', reason, source, since, nextChangeAt: null }
  );
  if (mode === 'fixed') return told('operator', 'fixed by the operator');
  if (isStrained) return told('learned', `held at ${value}: answers become slower above it`);
  if (isTrial) return told('learned', `trying ${value}: not yet refused at it`);
  if (value >= max) return told('operator', "at the operator's max");
  if (!Number.isFinite(ceiling)) {
    return told('learned', `free to grow from ${value}: nothing above it is known to be refused`);
  }
  const known = seededFrom === null
    ? `refused at ${ceiling}`
    : `${seededFrom} was learned before the restart`;
  const isSoon = trialAtMs > nowMs && trialAtMs < Infinity;
  if (isSoon) {
    const next = `one more is tried in ${seconds(trialAtMs - nowMs)} unless a call starts before`;
    return { ...told('learned', `at ${value}: ${known}, ${next}`), nextChangeAt: trialAtMs };
  }
  const next = isAtCeiling ? nextTrial(snapshot) : `it grows ${whenFull(value)}`;
  const nextChangeAt = isAtCeiling && probeAtMs > nowMs ? Math.ceil(probeAtMs) : null;
  return { ...told('learned', `at ${value}: ${known}, ${next}`), nextChangeAt };
}

/** What a trial of one more waits for: its time, so many calls, and then one that fills it. */
function nextTrial({ nowMs, level, probeCallsLeft }: Snapshot): string {
  const calls = probeCallsLeft > 1 ? `once ${probeCallsLeft} more calls succeed` : null;
  if (level.probeAtMs <= nowMs) return `next trial ${calls ?? whenFull(level.value)}`;
  const earliest = `next trial in ${seconds(level.probeAtMs - nowMs)} at the earliest`;
  return calls === null ? earliest : `${earliest}, ${calls}`;
}

function whenFull(level: number): string {
  return level === 1 ? 'once a call succeeds' : `once a call succeeds with all ${level} in use`;
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms / 1000))} s`;
}
