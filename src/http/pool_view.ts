/**
 * A pool at a glance, as lists, events and metrics show it: what it does now and why it holds back.
 */
import { openTo } from '../open_pool.ts';
import type { Clock } from '../scheduler/clock.ts';
import type { Entry } from '../scheduler/directory.ts';
import { governorStatus } from './governor_status.ts';

export interface PoolView {
  readonly name: string;
  readonly limit: number;
  readonly effectiveLimit: number;
  readonly inUse: number;
  readonly queued: number;
  readonly oldestWaitMs: number;
  /** Starts a minute in force; null where there is no rate. */
  readonly rpm: number | null;
  /** `paused`: nobody is admitted; `waiting`: somebody waits; `busy`: slots are held. */
  readonly state: 'idle' | 'busy' | 'waiting' | 'paused';
  readonly reason: string;
  readonly pausedUntil: number | null;
  /** Who may call it without any proof; null where nobody may. */
  readonly openTo: string | null;
}

export function poolView({ spec, pool }: Entry, clock: Clock): PoolView {
  const nowMs = clock.nowMs();
  const { rpm, reason, pausedUntil, paused } = governorStatus(pool, clock);
  const { inUse, queue } = pool;
  const busy = inUse > 0 ? 'busy' : 'idle';
  return {
    name: spec.name,
    limit: spec.concurrency.limit,
    effectiveLimit: pool.governor.limit,
    inUse,
    queued: queue.length,
    oldestWaitMs: nowMs - (queue.head?.joinedAtMs ?? nowMs),
    rpm,
    state: paused ? 'paused' : queue.length > 0 ? 'waiting' : busy,
    reason,
    pausedUntil,
    openTo: openTo(spec.access),
  };
}
