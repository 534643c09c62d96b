/**
 * A pool at a glance, as lists, events and metrics show it: what it does now and why it holds back.
 */
import { openTo } from '../open_pool.ts';
import type { Entry } from '../scheduler/directory.ts';
import { governorStatus } from './governor.ts';
import type { Server } from './server.ts';
import { instant } from './server.ts';

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

export function poolView({ spec, pool }: Entry, server: Server): PoolView {
  const { nowMs } = instant(server);
  const { rpm, reason, pausedUntil, paused } = governorStatus(pool, server);
  const { inUse, queue } = pool;
  const busy = inUse > 0 ? 'busy' : 'idle';
  return {
    name: spec.name,
    limit: spec.concurrency.limit,
    effectiveLimit: pool.governor.limit,
    inUse,
    queued: queue.length,
    oldestWaitMs: nowMs - (queue.head?.joinedAtMs ?? nowMs),
    rpm: rpm as number | null,
    state: paused === true ? 'paused' : queue.length > 0 ? 'waiting' : busy,
    reason: String(reason),
    pausedUntil: pausedUntil as number | null,
    openTo: openTo(spec.access),
  };
}

export function poolViews(server: Server): PoolView[] {
  return server.directory.list().map((entry) => poolView(entry, server));
}
