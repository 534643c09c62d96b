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

/** Why the pool holds back, with epoch instants. An operator's pause goes before all it learned. */
export function governorStatus(pool: Pool, clock: Clock): ShownStatus {
  const { shiftMs } = clock;
  const nowMs = clock.nowMs();
  const learned = pool.governor.status(nowMs);
  const wire = (atMs: number) => Math.round(atMs + shiftMs);
  const wireOrNull = (atMs: number | null) => atMs === null ? null : wire(atMs);
  const status = {
    ...learned,
    since: wire(learned.since),
    nextChangeAt: wireOrNull(learned.nextChangeAt),
    pausedUntil: wireOrNull(learned.pausedUntil),
    paused: learned.pausedUntil !== null,
  };
  const { pause } = pool;
  if (pause === null || pause.untilMs <= nowMs) return status;
  const untilMs = pause.untilMs === Infinity ? null : wire(pause.untilMs);
  const why = pause.reason === null ? '' : `: ${pause.reason}`;
  return {
    ...status,
    source: 'operator',
    reason: `paused by the operator${why}`,
    nextChangeAt: untilMs,
    pausedUntil: untilMs,
    paused: true,
  };
}
