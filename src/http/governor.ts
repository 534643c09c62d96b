/**
 * Administration of a pool's governor: what it holds and why, its changes, and having it forget.
 */
import type { Context } from 'hono';
import { log, messageOf } from '../log.ts';
import { ChangesParams } from '../wire.ts';
import { entryOf, parsed } from './admin_body.ts';
import { governorStatus } from './governor_status.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';

const PATH = '/admin/api/pools/:pool/governor';

export const governorRoutes: readonly Route[] = [
  { method: 'GET', path: PATH, access: 'admin', answer: showGovernor },
  { method: 'GET', path: `${PATH}/events`, access: 'admin', answer: listChanges },
  { method: 'POST', path: `${PATH}/forget`, access: 'admin', answer: forget },
];

function showGovernor(context: Context, server: Server): Response {
  const { pool, spec } = entryOf(context, server);
  const { concurrency: { mode, min, max }, rate } = spec;
  return context.json({ ...governorStatus(pool, server.scheduler.clock), mode, min, max, rate });
}

async function listChanges(context: Context, server: Server): Promise<Response> {
  const { spec } = entryOf(context, server);
  const { limit } = parsed(ChangesParams, context.req.query());
  await saveNow(server);
  const events = await server.store.readChanges(spec.name, limit);
  return context.json({ events: events.map(({ pool: _, ...event }) => event) });
}

async function forget(context: Context, server: Server): Promise<Response> {
  const { pool } = entryOf(context, server);
  server.scheduler.turn((nowMs, bouncer) => bouncer.forget(nowMs, pool));
  await saveNow(server);
  return context.json(governorStatus(pool, server.scheduler.clock));
}

/** What the store does not take now, the keeper stores later: no reason to refuse anybody. */
async function saveNow({ governors }: Server): Promise<void> {
  await governors.save().catch((error) => {
    log.warn('the governors were not stored: {reason}', { reason: messageOf(error) });
  });
}
