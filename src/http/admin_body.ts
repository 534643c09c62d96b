/**
 * What the administration's routes share: reading a body against its schema, judging an instant of
 * it, and finding the pool that a path names. Each throws a fault where it cannot.
 */
import type { Context } from 'hono';
import type { z } from 'zod';
import { CEILINGS } from '../ceilings.ts';
import type { Entry } from '../scheduler/directory.ts';
import { protoPath } from '../json.ts';
import { complaintOf, NO_FIELD } from '../wire.ts';
import { hasBody, readJson } from './body.ts';
import { Fault, wrongField } from './fault.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';

/** The request's JSON; undefined where it has none. @throws Fault */
export async function jsonOf(context: Context, { deadlines }: Server): Promise<unknown> {
  const request = context.req.raw;
  if (!hasBody(request)) return undefined;
  const body = await readJson(request, { bytesMax: CEILINGS.adminBodyBytes, deadlines });
  if (body.kind === 'too_large') throw new Fault('payload_too_large');
  if (body.kind === 'bad') throw new Fault('invalid_request', { message: body.reason });
  if (body.kind !== 'json') return undefined;
  const proto = protoPath(body.value);
  if (proto !== null) throw new Fault('invalid_request', wrongField(proto, NO_FIELD));
  return body.value;
}

/** The value as the schema has it. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Fault('invalid_request', complaintOf(result.error));
}

/** Of a change by merge: what is null is gone before the schema sees it, with a name or without. */
export function refuseUnknownFields(schema: z.ZodType, patch: unknown): void {
  const found = schema.safeParse(patch).error?.issues ?? [];
  const issues = found.filter(({ code }) => code === 'unrecognized_keys');
  if (issues.length > 0) throw new Fault('invalid_request', complaintOf({ issues }));
}

export function entryOf(context: Context, { directory }: Server): Entry {
  const entry = directory.get(context.req.param('pool') ?? '');
  if (entry === undefined) throw new Fault('not_found', { message: 'No pool has this name.' });
  return entry;
}

/** An instant that came in a body, null where none did. @throws Fault where it is over already. */
export function refusePast(server: Server, path: string, atMs: number | null): void {
  if (atMs === null || atMs > epochMs(server)) return;
  throw new Fault('invalid_request', wrongField(path, 'must lie ahead (epoch ms)'));
}
