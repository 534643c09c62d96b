/**
 * Administration of pools: list, create, read, change by merge, delete; pause, resume and drain.
 */
import type { Context } from 'hono';
import { keepListedSecrets, withoutSecrets } from '../access/secret_fields.ts';
import { mergePatch } from '../merge_patch.ts';
import { DirectoryFullError } from '../scheduler/directory.ts';
import type { Entry } from '../scheduler/directory.ts';
import { HostTakenError } from '../scheduler/pool_hosts.ts';
import { PauseBody, PoolSpec } from '../wire.ts';
import { entryOf, jsonOf, parsed, refusePast, refuseUnknownFields } from './admin_body.ts';
import { Fault, wrongField } from './fault.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';

export const poolRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/admin/api/pools',
    access: 'admin',
    answer: (context, { directory }) =>
      context.json({ pools: directory.list().map(({ spec }) => withoutSecrets(spec)) }),
  },
  { method: 'POST', path: '/admin/api/pools', access: 'admin', answer: createPool },
  {
    method: 'GET',
    path: '/admin/api/pools/:pool',
    access: 'admin',
    answer: (context, server) => context.json(withoutSecrets(entryOf(context, server).spec)),
  },
  { method: 'PATCH', path: '/admin/api/pools/:pool', access: 'admin', answer: changePool },
  { method: 'DELETE', path: '/admin/api/pools/:pool', access: 'admin', answer: deletePool },
  { method: 'POST', path: '/admin/api/pools/:pool/pause', access: 'admin', answer: pausePool },
  { method: 'POST', path: '/admin/api/pools/:pool/resume', access: 'admin', answer: resumePool },
  { method: 'POST', path: '/admin/api/pools/:pool/drain', access: 'admin', answer: drainPool },
];

async function createPool(context: Context, server: Server): Promise<Response> {
  const spec = parsed(PoolSpec, await jsonOf(context, server));
  const { directory } = server;
  const entry = await directory.inTurn(() => {
    if (directory.get(spec.name) !== undefined) throw new Fault('already_exists');
    return directory.put(spec).catch(refuseOverCeiling);
  });
  return context.json(withoutSecrets(entry.spec), 201);
}

async function changePool(context: Context, server: Server): Promise<Response> {
  const patch = await jsonOf(context, server);
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    throw new Fault('invalid_request', { message: 'A JSON object of changes is wanted.' });
  }
  const { directory } = server;
  const entry = await directory.inTurn(() => {
    const known = changeable(entryOf(context, server));
    const merged = mergePatch(withoutStaleInterval(known.spec, patch), patch);
    const meant = withoutBound(merged, patch);
    const spec = parsed(PoolSpec, keepListedSecrets(known.spec, meant));
    refuseUnknownFields(PoolSpec, patch);
    if (spec.name !== known.spec.name) {
      throw new Fault(
        'invalid_request',
        wrongField('name', `must stay ${known.spec.name}: a pool keeps its name`),
      );
    }
    return directory.put(spec).catch(refuseOverCeiling);
  });
  return context.json(withoutSecrets(entry.spec));
}

/** Where only the term is given, the interval follows from it anew. */
function withoutStaleInterval(spec: PoolSpec, patch: object): unknown {
  const lease = (patch as { lease?: unknown }).lease;
  const isTermAlone = typeof lease === 'object' && lease !== null &&
    'termMs' in lease && !('renewIntervalMs' in lease);
  if (!isTermAlone) return spec;
  const { renewIntervalMs: _, ...rest } = spec.lease;
  return { ...spec, lease: rest };
}

/** null resets a field, but for this one, of which it is a value: no bound. */
function withoutBound(merged: unknown, patch: object): unknown {
  const { upstream } = patch as { upstream?: { requestTimeoutMs?: unknown } | null };
  if (upstream?.requestTimeoutMs !== null) return merged;
  const known = (merged as { upstream: object }).upstream;
  return { ...merged as object, upstream: { ...known, requestTimeoutMs: null } };
}

async function deletePool(context: Context, server: Server): Promise<Response> {
  const { directory, forwarding } = server;
  const name = await directory.inTurn(async () => {
    const entry = changeable(entryOf(context, server));
    await directory.remove(entry);
    return entry.spec.name;
  });
  forwarding.forget(name);
  // What is forwarded loses its slot as any lease does, so it ends.
  for (const underWay of forwarding.underWay) {
    if (underWay.pool === name) underWay.end();
  }
  return context.body(null, 204);
}

async function pausePool(context: Context, server: Server): Promise<Response> {
  const { untilMs, reason } = parsed(PauseBody, await jsonOf(context, server) ?? {});
  refusePast(server, 'untilMs', untilMs);
  const { shiftMs } = server.scheduler.clock;
  const pause = { untilMs: untilMs === null ? Infinity : untilMs - shiftMs, reason };
  const { directory } = server;
  await directory.inTurn(() => directory.setPause(entryOf(context, server), pause));
  return context.json({ paused: true, untilMs, reason });
}

async function resumePool(context: Context, server: Server): Promise<Response> {
  const { directory } = server;
  await directory.inTurn(() => directory.setPause(entryOf(context, server), null));
  return context.json({ paused: false });
}

async function drainPool(context: Context, server: Server): Promise<Response> {
  const { directory, scheduler } = server;
  const pool = await directory.inTurn(async () => {
    const entry = entryOf(context, server);
    await directory.setPause(entry, { untilMs: Infinity, reason: 'draining' });
    return entry.pool;
  });
  await scheduler.whenDrained(pool, context.req.raw.signal);
  return context.json({ drained: pool.leases.size === 0 });
}

/** The entry, unless a configuration file owns the pool. */
export function changeable(entry: Entry): Entry {
  if (entry.isManaged) throw new Fault('managed_by_config');
  return entry;
}

export function refuseOverCeiling(error: unknown): never {
  if (error instanceof DirectoryFullError || error instanceof HostTakenError) {
    throw new Fault('invalid_request', { message: error.message });
  }
  throw error;
}
