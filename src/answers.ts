/**
 * The shape of what is answered, as zod schemas, for the API document; tests hold real answers
 * against them. Fields may be added to answers, so these name what a caller may rely on.
 */
import { z } from 'zod';
import { isObject } from './json.ts';
import { PoolSpec } from './wire.ts';

const count = z.number();
const atMs = z.number().describe('epoch ms');
const atMsOrNone = atMs.nullable();
const name = z.string();
const nameOrNone = z.string().nullable();

export const FaultAnswer = z.object({
  error: name.describe('a code of docs/errors.md'),
  message: name,
  reason: name.optional(),
  retryAfterMs: count.optional(),
  place: count.optional().describe('where in the queue the acquire waits that this one repeats'),
  issues: z.array(z.object({ path: name, reason: name })).optional(),
});

export const GrantAnswer = z.object({
  slotId: name,
  leaseDeadline: atMs,
  requestDeadline: atMs,
  termMs: count,
  renewIntervalMs: count,
  fence: count.describe('grows with every grant of the server'),
});
export const RenewAnswer = z.object({ leaseDeadline: atMs });
export const ReleaseAnswer = z.object({ released: z.boolean() });

export const PoolAnswer = z.object({ name }).meta(shown(PoolSpec));
export const PoolsAnswer = z.object({ pools: z.array(PoolAnswer) });

const Key = { id: name, name, prefix: name, createdAt: atMs, expiresAt: atMsOrNone };
export const KeyAnswer = z.object({ ...Key, key: name.describe('shown this once') });
export const KeysAnswer = z.object({
  keys: z.array(z.object({ ...Key, lastUsedAt: atMsOrNone })),
});

export const GovernorAnswer = z.object({
  limit: count,
  effectiveLimit: count,
  rpm: count.nullable(),
  tpm: count.nullable(),
  rpmRemaining: count.nullable(),
  about: z.enum(['pause', 'rate', 'slots']),
  source: z.enum(['operator', 'header', 'learned']),
  reason: name,
  since: atMsOrNone,
  nextChangeAt: atMsOrNone,
  ceiling: count.nullable(),
  refusedLastHour: count,
  pausedUntil: atMsOrNone,
  paused: z.boolean(),
  trustsHeaders: z.boolean(),
});
export const GovernorOfPoolAnswer = GovernorAnswer.extend({
  mode: z.enum(['fixed', 'adaptive']),
  min: count,
  max: count,
  rate: z.object({}).meta(shown(PoolSpec.shape.rate)),
});
export const StatusAnswer = GovernorAnswer.extend({
  gate: z.object({ reason: z.enum(['paused', 'rate']), until: atMsOrNone }).nullable(),
  closed: z.enum(['storage_unavailable', 'shutting_down']).nullable()
    .describe('the code with which the lock door of every pool refuses now'),
  inUse: count,
  remaining: count,
  queued: count,
  oldestWaitMs: count,
  oldestHeldMs: count,
  proxied: z.object({ underWay: count, stalled: count, longestQuietMs: count }),
  credentials: z.array(z.object({
    name,
    header: name,
    coolingUntil: atMsOrNone,
    coolingFor: count.nullable().describe('the status that put it aside'),
  })),
});
export const ChangesAnswer = z.object({
  events: z.array(z.object({
    at: atMs,
    what: name,
    from: count.nullable(),
    to: count.nullable(),
    why: name,
    evidence: name,
  })),
});

const Held = { kind: z.enum(['lock', 'proxy']), slots: count, holder: nameOrNone };
export const SlotsAnswer = z.object({
  slots: z.array(z.object({
    ...Held,
    ref: name,
    keyId: nameOrNone,
    grantedAt: atMs,
    ageMs: count,
    renewals: count,
    leaseDeadline: atMsOrNone,
    requestDeadline: atMsOrNone,
  })),
});
export const WaitersAnswer = z.object({
  waiters: z.array(z.object({
    ...Held,
    id: name,
    tokens: count,
    keyId: nameOrNone,
    since: atMs,
    waitedMs: count,
    until: atMs,
  })),
});

export const LogAnswer = z.object({
  entries: z.array(z.object({
    ...Held,
    id: name,
    at: atMs,
    pool: name,
    outcome: name,
    status: count.nullable(),
    reason: nameOrNone,
    queuedMs: count,
    keyId: nameOrNone,
    address: nameOrNone,
    tokens: count.optional(),
    count: count.optional(),
    method: name.optional(),
    path: name.optional(),
    upstreamStatus: count.nullish(),
    durationMs: count.optional(),
    bytesIn: count.optional(),
    bytesOut: count.optional(),
    credential: nameOrNone.optional(),
  })),
  nextCursor: nameOrNone,
});

const column = z.array(count);
export const HistoryAnswer = z.object({
  stepMs: count,
  at: column,
  inUse: column,
  limit: z.array(count.nullable()),
  queued: column,
  granted: column,
  refused: column,
});

export const PausedAnswer = z.object({
  paused: z.boolean(),
  untilMs: atMsOrNone.optional(),
  reason: nameOrNone.optional(),
});
export const DrainedAnswer = z.object({ drained: z.boolean() });
export const OkAnswer = z.object({ ok: z.boolean() });
export const VersionAnswer = z.object({
  version: name,
  runtime: name,
  schema: count.describe('of the database'),
  uptimeMs: count,
});

/** A schema of what is taken, as it describes what is shown: without secrets, open to more. */
function shown(schema: z.ZodType): Record<string, unknown> {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return withoutHidden(json) as Record<string, unknown>;
}

function withoutHidden(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutHidden);
  if (!isObject(json)) return json;
  const { properties } = json;
  const isShown = (name: string) => !(isObject(properties) && isHidden(properties[name]));
  const shownOf = (name: string, of: unknown) =>
    name === 'required' && Array.isArray(of) ? of.filter(isShown) : withoutHidden(of);
  const members = Object.entries(json)
    .filter(([name, of]) => !isHidden(of) && !(name === 'additionalProperties' && of === false))
    .map(([name, of]) => [name, shownOf(name, of)]);
  return Object.fromEntries(members);
}

function isHidden(json: unknown): boolean {
  return isObject(json) && json['writeOnly'] === true;
}
