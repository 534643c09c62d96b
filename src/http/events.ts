/**
 * Live events and the history behind the charts of the page.
 */
import type { Context } from 'hono';
import { isSpan } from '../scheduler/history.ts';
import { entryOf } from './admin_body.ts';
import { Fault, faultResponse, wrongField } from './fault.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';
import { sessionOf } from './session.ts';

export const eventRoutes: readonly Route[] = [
  { method: 'GET', path: '/admin/api/events', access: 'admin', answer: streamEvents },
  { method: 'GET', path: '/admin/api/pools/:pool/history', access: 'admin', answer: showHistory },
];

/** `pool`: that one alone; `log=0`: without log rows. */
function streamEvents(context: Context, server: Server): Response {
  const session = sessionOf(context.req.raw, server);
  const stream = server.desk.watch.open(server, {
    pool: context.req.query('pool') ?? null,
    wantsRows: context.req.query('log') !== '0',
    isAllowed: () => session === null || sessionOf(context.req.raw, server) !== null,
  });
  if (stream === null) return faultResponse('too_many_viewers');
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

function showHistory(context: Context, server: Server): Response {
  const { spec } = entryOf(context, server);
  const span = context.req.query('span') ?? '5m';
  if (!isSpan(span)) {
    throw new Fault('invalid_request', wrongField('span', 'must be 5m, 1h or 24h'));
  }
  return context.json(server.desk.history.read(spec.name, span));
}
