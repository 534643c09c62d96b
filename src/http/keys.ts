/**
 * Administration of pool keys: make one (the only time it is shown), list without secrets, revoke.
 */
import type { Context } from 'hono';
import { freshKey, keyRow } from '../access/keys.ts';
import { KeyBody } from '../wire.ts';
import { entryOf, jsonOf, parsed, refusePast } from './admin_body.ts';
import { Fault } from './fault.ts';
import { changeable, refuseOverCeiling } from './pools.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';

export const keyRoutes: readonly Route[] = [
  { method: 'GET', path: '/admin/api/pools/:pool/keys', access: 'admin', answer: listKeys },
  { method: 'POST', path: '/admin/api/pools/:pool/keys', access: 'admin', answer: makeKey },
  { method: 'DELETE', path: '/admin/api/pools/:pool/keys/:id', access: 'admin', answer: revokeKey },
];

function listKeys(context: Context, server: Server): Response {
  const rows = entryOf(context, server).keys.rows();
  return context.json({ keys: rows.map(({ hash: _, pool: __, ...shown }) => shown) });
}

async function makeKey(context: Context, server: Server): Promise<Response> {
  const { name, expiresAt } = parsed(KeyBody, await jsonOf(context, server));
  refusePast(server, 'expiresAt', expiresAt);
  const { directory } = server;
  const key = freshKey();
  const row = await directory.inTurn(async () => {
    const entry = changeable(entryOf(context, server));
    const made = keyRow(key, {
      id: `key_${crypto.randomUUID()}`,
      pool: entry.spec.name,
      name,
      createdAt: epochMs(server),
      expiresAt,
      lastUsedAt: null,
    });
    await directory.addKeys(entry, [made]).catch(refuseOverCeiling);
    return made;
  });
  const { id, prefix, createdAt } = row;
  return context.json({ id, name, key, prefix, createdAt, expiresAt }, 201);
}

async function revokeKey(context: Context, server: Server): Promise<Response> {
  const { directory } = server;
  const id = context.req.param('id') ?? '';
  await directory.inTurn(async () => {
    const entry = changeable(entryOf(context, server));
    if (!await directory.removeKey(entry, id)) {
      throw new Fault('not_found', { message: 'The pool has no key of this id.' });
    }
  });
  return context.body(null, 204);
}
