/**
 * What a pool does right now: its gauges, the slots that are held, and who waits. A slot is named
 * by `ref`, never by their slotId, which is the holder's alone.
 */
import type { Context } from 'hono';
import type { Pool } from '../core/pool.ts';
import { entryOf } from './admin_body.ts';
import { Fault } from './fault.ts';
import { governorStatus } from './governor_status.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';
import { instant } from './server.ts';

/** No byte for so long, and a proxied request is shown as stalled. */
const STALLED_MS = 2000;

export const statusRoutes: readonly Route[] = [
  { method: 'GET', path: '/admin/api/pools/:pool/status', access: 'admin', answer: showStatus },
  { method: 'GET', path: '/admin/api/pools/:pool/slots', access: 'admin', answer: listSlots },
  {
    method: 'DELETE',
    path: '/admin/api/pools/:pool/slots/:ref',
    access: 'admin',
    answer: takeBack,
  },
  { method: 'GET', path: '/admin/api/pools/:pool/waiters', access: 'admin', answer: listWaiters },
];

function showStatus(context: Context, server: Server): Response {
  const { pool, spec } = entryOf(context, server);
  const now = instant(server);
  const { nowMs, shiftMs } = now;
  const target = server.forwarding.targetOf(spec);
  const opening = pool.opening(nowMs, 0, pool.queue.length);
  const untilMs = opening.kind === 'shut' ? opening.atMs + shiftMs : Infinity;
  return context.json({
    ...governorStatus(pool, server.scheduler.clock),
    // What would refuse a caller before any slot is looked at, and until when.
    gate: opening.kind === 'open'
      ? null
      : { reason: opening.reason, until: Number.isFinite(untilMs) ? Math.round(untilMs) : null },
    // What refuses every caller of the lock door, whatever the pool would do.
    closed: server.scheduler.closedWith('lock'),
    inUse: pool.inUse,
    remaining: pool.gauge(nowMs).remaining,
    queued: pool.queue.length,
    oldestWaitMs: nowMs - (pool.queue.head?.joinedAtMs ?? nowMs),
    oldestHeldMs: oldestMs(nowMs, [...pool.leases.values()].map((lease) => lease.grantedAtMs)),
    proxied: proxiedStatus(pool, server),
    credentials: target === null ? [] : target.credentials.shown(now),
  });
}

/** Proxied requests under way, and how many of them have not moved a byte for a while. */
function proxiedStatus({ name }: Pool, { forwarding }: Server): Record<string, number> {
  const nowMs = forwarding.nowMs();
  const quietMs = [...forwarding.underWay].filter(({ pool }) => pool === name)
    .map(({ quietSinceMs }) => nowMs - quietSinceMs);
  return {
    underWay: quietMs.length,
    stalled: quietMs.filter((ms) => ms >= STALLED_MS).length,
    longestQuietMs: Math.max(0, ...quietMs),
  };
}

function oldestMs(nowMs: number, sinceMs: readonly number[]): number {
  return sinceMs.reduce((oldest, since) => Math.max(oldest, nowMs - since), 0);
}

function listSlots(context: Context, server: Server): Response {
  const { pool } = entryOf(context, server);
  const { nowMs, shiftMs } = instant(server);
  const slots = [...pool.leases.values()].map((lease) => ({
    ref: lease.attempt,
    kind: lease.door,
    slots: lease.slots,
    holder: lease.holder,
    keyId: lease.keyId,
    grantedAt: lease.grantedAtMs + shiftMs,
    ageMs: nowMs - lease.grantedAtMs,
    renewals: lease.renewals,
    leaseDeadline: lease.door === 'lock' ? lease.dueAtMs + shiftMs : null,
    requestDeadline: lease.door === 'lock' ? lease.requestDeadlineMs + shiftMs : null,
  }));
  return context.json({ slots });
}

function takeBack(context: Context, server: Server): Response {
  const { pool } = entryOf(context, server);
  const ref = context.req.param('ref');
  const lease = [...pool.leases.values()].find(({ attempt }) => attempt === ref);
  if (lease === undefined) {
    throw new Fault('not_found', { message: 'No held slot of this pool has this ref.' });
  }
  [...server.forwarding.underWay].find(({ slotId }) => slotId === lease.slotId)?.end();
  server.scheduler.release(pool, lease.slotId, { kind: 'unknown' });
  return context.body(null, 204);
}

function listWaiters(context: Context, server: Server): Response {
  const { pool } = entryOf(context, server);
  const { nowMs, shiftMs } = instant(server);
  const waiters = [...pool.queue].map((waiter) => ({
    id: waiter.ask.attempt,
    kind: waiter.ask.door,
    slots: waiter.ask.slots,
    tokens: waiter.ask.tokens,
    holder: waiter.ask.holder,
    keyId: waiter.ask.keyId,
    since: waiter.joinedAtMs + shiftMs,
    waitedMs: nowMs - waiter.joinedAtMs,
    until: waiter.dueAtMs + shiftMs,
  }));
  return context.json({ waiters });
}
