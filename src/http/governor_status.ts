/**
 * What a pool's governor holds just now and why, as administrators are shown it.
 */
import type { GovernorStatus } from '../core/governor/governor.ts';
import type { Pool } from '../core/pool.ts';
import type { Clock } from '../scheduler/clock.ts';

export interface ShownStatus extends GovernorStatus {
  /** Whether nobody is admitted. */
  readonly paused: boolean;
}

/** Why the pool holds back, with epoch instants: of several gates, the one that holds longest. */
export function governorStatus(pool: Pool, clock: Clock): ShownStatus {
  const { shiftMs } = clock;
  const nowMs = clock.nowMs();
  const learned = pool.governor.status(nowMs);
  const { pausedUntil } = learned;
  const wire = (atMs: number) => Math.round(atMs + shiftMs);
  const wireOrNull = (atMs: number | null) =>
    atMs === null || atMs === Infinity ? null : wire(atMs);
  const status = {
    ...learned,
    since: wire(learned.since),
    nextChangeAt: wireOrNull(learned.nextChangeAt),
    pausedUntil: wireOrNull(pausedUntil),
    paused: pausedUntil !== null,
  };
  const { pause } = pool;
  if (pause === null || pause.untilMs <= nowMs) return status;
  const paused = {
    ...status,
    pausedUntil: wireOrNull(Math.max(pause.untilMs, pausedUntil ?? 0)),
    paused: true,
  };
  const opening = pool.governor.opening(nowMs, 0, 0);
  if (opening.kind === 'shut' && opening.atMs > pause.untilMs) return paused;
  const why = pause.reason === null ? '' : `: ${pause.reason}`;
  return {
    ...paused,
    about: 'pause',
    source: 'operator',
    reason: `paused by the operator${why}`,
    nextChangeAt: wireOrNull(pause.untilMs),
  };
}
