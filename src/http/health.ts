/**
 * Whether the process is up, and whether it can do its work. The readiness answer is kept for a
 * second, so that asking often costs the database nothing.
 */
import type { Context } from 'hono';
import { faultResponse } from './fault.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';

const KEPT_MS = 1000;

interface Readiness {
  readonly atMs: number;
  readonly isReady: Promise<boolean>;
}

const kept = new WeakMap<Server, Readiness>();

export const healthRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    access: 'open',
    answer: (context) => context.json({ ok: true }),
  },
  { method: 'GET', path: '/readyz', access: 'open', answer: showReadiness },
  {
    method: 'GET',
    path: '/admin/api/version',
    access: 'admin',
    answer: (context, server) => context.json(server.describe()),
  },
];

async function showReadiness(context: Context, server: Server): Promise<Response> {
  if (server.scheduler.isDraining) return faultResponse('shutting_down');
  const nowMs = server.scheduler.clock.nowMs();
  let readiness = kept.get(server);
  if (readiness === undefined || nowMs - readiness.atMs >= KEPT_MS) {
    readiness = { atMs: nowMs, isReady: server.store.probe().then(() => true, () => false) };
    kept.set(server, readiness);
  }
  if (await readiness.isReady && !server.scheduler.journal.isFailing) {
    return context.json({ ok: true });
  }
  return faultResponse('storage_unavailable', {
    message: 'The database does not take writes.',
  });
}
