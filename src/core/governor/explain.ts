/**
 * Why a pool holds back, in plain words: the first gate that does, in the order in which a caller
 * would meet it. It reads a snapshot and decides nothing.
 */
import type { GovernorStatus } from './governor.ts';

export interface Snapshot {
  readonly nowMs: number;
  readonly mode: 'fixed' | 'adaptive';
  readonly max: number;
  readonly level: number;
  readonly ceiling: number;
  readonly seededFrom: number | null;
  readonly isTrial: boolean;
  readonly heldFromMs: number;
  readonly probeAtMs: number;
  readonly isStrained: boolean;
  readonly pause: { readonly fromMs: number; readonly untilMs: number };
  readonly scout: {
    readonly sinceMs: number;
    readonly nextAtMs: number;
    readonly isQuota: boolean;
  };
  readonly exhaustedUntilMs: number | null;
  /** Starts a minute by source; null where that source sets none. */
  readonly learned: {
    readonly rpm: number | null;
    readonly sinceMs: number;
    readonly growsAtMs: number;
  };
  readonly headers: { readonly rpm: number | null; readonly sinceMs: number };
  /** Since when these settings are in force; before it, nothing was. */
  readonly beganAtMs: number;
  readonly operatorRpm: number | null;
}

type Explanation = Pick<GovernorStatus, 'reason' | 'source' | 'since' | 'nextChangeAt'>;

export function explain(snapshot: Snapshot): Explanation {
  return explainHold(snapshot) ?? explainRate(snapshot) ?? explainLevel(snapshot);
}

function explainHold(
  { nowMs, pause, scout, headers, exhaustedUntilMs }: Snapshot,
): Explanation | null {
  if (nowMs < pause.untilMs) {
    return {
      reason: `paused: the upstream asked to hold back for ${seconds(pause.untilMs - nowMs)} more`,
      source: 'header',
      since: pause.fromMs,
      nextChangeAt: pause.untilMs,
    };
  }
  if (scout.sinceMs !== Infinity) {
    const waitMs = Math.max(0, scout.nextAtMs - nowMs);
    const next = waitMs > 0 ? `next try in ${seconds(waitMs)}` : 'a try is in flight';
    const reason = scout.isQuota
      ? `quota used up: ${next}`
      : `refused: one call at a time, ${next}`;
    const nextChangeAt = waitMs > 0 ? scout.nextAtMs : null;
    return { reason, source: 'learned', since: scout.sinceMs, nextChangeAt };
  }
  if (exhaustedUntilMs === null) return null;
  return {
    reason: `the upstream's headers leave nothing for ${seconds(exhaustedUntilMs - nowMs)}`,
    source: 'header',
    since: headers.sinceMs,
    nextChangeAt: exhaustedUntilMs,
  };
}

function explainRate(snapshot: Snapshot): Explanation | null {
  const { nowMs, learned, headers, operatorRpm } = snapshot;
  const lowest = Math.min(
    learned.rpm ?? Infinity,
    headers.rpm ?? Infinity,
    operatorRpm ?? Infinity,
  );
  if (lowest === Infinity || lowest === operatorRpm) return null;
  if (lowest === learned.rpm) {
    return {
      reason: `rate learned: the upstream takes about ${Math.round(lowest)} starts a minute`,
      source: 'learned',
      since: learned.sinceMs,
      nextChangeAt: Math.ceil(Math.max(nowMs, learned.growsAtMs)),
    };
  }
  const reason = `the upstream's headers allow ${Math.round(lowest)} starts a minute`;
  return { reason, source: 'header', since: headers.sinceMs, nextChangeAt: null };
}

function explainLevel(snapshot: Snapshot): Explanation {
  const { nowMs, mode, level, ceiling, max, isTrial, isStrained, beganAtMs } = snapshot;
  const since = Math.max(snapshot.heldFromMs, beganAtMs);
  if (mode === 'fixed') {
    return { reason: 'fixed by the operator', source: 'operator', since, nextChangeAt: null };
  }
  const learned = { source: 'learned', since } as const;
  if (isStrained) {
    const reason = `held at ${level}: answers become slower above it`;
    return { ...learned, reason, nextChangeAt: null };
  }
  if (isTrial) {
    const reason = `trying ${level}: not yet refused at it`;
    return { ...learned, reason, nextChangeAt: null };
  }
  if (Number.isFinite(ceiling)) {
    const nextChangeAt = Math.ceil(Math.max(nowMs, snapshot.probeAtMs));
    const known = snapshot.seededFrom === null
      ? `refused at ${ceiling}`
      : `${snapshot.seededFrom} was learned before the restart`;
    const waitMs = nextChangeAt - nowMs;
    const next = waitMs > 0
      ? `next trial in ${seconds(waitMs)} at the earliest`
      : 'to be tried again once callers want more';
    const reason = `at ${level}: ${known}, ${next}`;
    return { ...learned, reason, nextChangeAt };
  }
  if (level >= max) {
    return { reason: "at the operator's max", source: 'operator', since, nextChangeAt: null };
  }
  const reason = `free to grow from ${level}: nothing was refused lately`;
  return { ...learned, reason, nextChangeAt: null };
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms / 1000))} s`;
}
