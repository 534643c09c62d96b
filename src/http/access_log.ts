/**
 * The access log of a pool, newest first, in pages.
 */
import type { Context } from 'hono';
import { isLogCursor } from '../store/store.ts';
import { LogParams } from '../wire.ts';
import { entryOf, parsed } from './admin_body.ts';
import { Fault, wrongField } from './fault.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';
import { shownEntry } from './shown_entry.ts';

export const logRoutes: readonly Route[] = [
  { method: 'GET', path: '/admin/api/pools/:pool/log', access: 'admin', answer: showLog },
];

async function showLog(context: Context, server: Server): Promise<Response> {
  const { spec } = entryOf(context, server);
  const { limit, cursor, outcome, keyId, since, until } = parsed(LogParams, context.req.query());
  if (cursor !== undefined && !isLogCursor(cursor)) {
    throw new Fault('invalid_request', wrongField('cursor', 'must be the nextCursor of a page'));
  }
  await server.scheduler.journal.settled();
  const page = await server.store.readLog({
    pool: spec.name,
    limit,
    ...(cursor === undefined ? {} : { cursor }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  });
  return context.json({ entries: page.entries.map(shownEntry), nextCursor: page.nextCursor });
}
