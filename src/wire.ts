/**
 * The shape of every body that comes in, as zod schemas: what is checked, what the types are and
 * what the documents say come from here. Parsing is all that happens; nothing is looked up.
 */
import { z } from 'zod';
import { CEILINGS } from './ceilings.ts';
import type { Issue } from './errors.ts';
import { LOGGED_OUTCOMES } from './errors.ts';
import { AccessSpec } from './wire_access.ts';
import { UpstreamSpec } from './wire_upstream.ts';
import './wire_words.ts';

/** A pool's name is a DNS label, since it is also a host name's first part. */
export const POOL_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const whole = (min: number, max: number) => z.int().min(min).max(max);
/** Any whole number, however large: what is too long is clamped, not refused. */
const anyWhole = z.number().min(0).refine(Number.isInteger, 'must be a whole number')
  .meta({ type: 'integer' });
const amount = z.number().min(0);
/** No control characters, no lone surrogates; counted in characters. */
const PRINTABLE = /^\P{C}{0,128}$/u;
const label = z.string().regex(PRINTABLE, 'must be at most 128 printable characters');

/** null counts as absent for each field of a lock body, and unknown fields are ignored. */
const orAbsent = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

export const AcquireBody = z.object({
  waitMs: orAbsent(anyWhole),
  slots: orAbsent(whole(1, 1_000_000)),
  tokens: orAbsent(z.int().min(0)),
  holder: orAbsent(label),
});
export type AcquireBody = z.infer<typeof AcquireBody>;

const headerValue = z.string().max(CEILINGS.reportHeaderBytes);

/** A count of an upstream's; many say -1 where they do not tell it. */
const toldCount = z.number().min(-1);

/** Rate fields that the caller parsed itself; durations in ms. */
const RateFields = z.object({
  limit: orAbsent(toldCount),
  remaining: orAbsent(toldCount),
  resetMs: orAbsent(amount),
  windowMs: orAbsent(amount),
  tokenLimit: orAbsent(toldCount),
  tokenRemaining: orAbsent(toldCount),
  tokenResetMs: orAbsent(amount),
  retryAfterMs: orAbsent(amount),
});

export const ReleaseBody = z.object({
  status: orAbsent(whole(100, 599)),
  /** How many 429s the caller saw. */
  throttled: orAbsent(anyWhole),
  retryAfterMs: orAbsent(amount),
  rate: orAbsent(RateFields),
  headers: orAbsent(
    z.record(
      z.string(),
      z.union([headerValue, z.array(headerValue)], 'must be a string, or a list of strings'),
    ).refine(
      (headers) => Object.keys(headers).length <= CEILINGS.reportHeaders,
      `must have at most ${CEILINGS.reportHeaders} names`,
    ),
  ),
  tokens: orAbsent(z.int().min(0)),
});
export type ReleaseBody = z.infer<typeof ReleaseBody>;

const Concurrency = z.strictObject({
  limit: whole(1, 1_000_000).default(10),
  mode: z.enum(['fixed', 'adaptive']).default('fixed'),
  min: whole(1, 1_000_000).default(1),
  max: whole(1, 1_000_000).default(256),
}).refine(
  ({ mode, min, limit, max }) => mode === 'fixed' || (min <= limit && limit <= max),
  'in adaptive mode min <= limit <= max is wanted',
);

const Lease = z.strictObject({
  termMs: whole(1_000, 3_600_000).default(30_000),
  renewIntervalMs: whole(1, 3_600_000).optional(),
  requestTimeoutMs: whole(1_000, 86_400_000).default(60_000),
}).transform((lease) => ({
  ...lease,
  renewIntervalMs: lease.renewIntervalMs ?? Math.floor(lease.termMs / 3),
})).refine(({ renewIntervalMs, termMs }) => renewIntervalMs < termMs, {
  path: ['renewIntervalMs'],
  message: 'must be less than termMs',
});

const Rate = z.strictObject({
  rpm: whole(1, 10_000_000).nullable().default(null),
  tpm: whole(1, 10_000_000_000).nullable().default(null),
  burst: whole(1, 10_000_000).nullable().default(null),
  learn: z.boolean().default(true),
  kind: z.enum(['auto', 'concurrency', 'rate']).default('auto'),
  hints: z.strictObject({ resetUnit: z.enum(['s', 'ms']).optional() }).prefault({}),
  maxPauseMs: whole(0, 86_400_000).default(300_000),
});

const Log = z.strictObject({
  retentionDays: whole(1, 3_650).default(30),
  rowsMax: whole(0, 100_000_000).default(1_000_000),
});
/** Also for the rows of pools that exist no more. */
export const LOG_DEFAULTS = Log.parse({});

const settings = {
  concurrency: Concurrency.prefault({}),
  queue: z.strictObject({
    maxDepth: whole(0, CEILINGS.waiters).default(1_000),
    timeoutMs: whole(0, 3_600_000).default(30_000),
  }).prefault({}),
  lease: Lease.prefault({}),
  rate: Rate.prefault({}),
  access: AccessSpec.prefault({}),
  upstream: UpstreamSpec.nullable().default(null),
  log: Log.prefault({}),
};

/** A pool as the admin API and the configuration file have it. */
export const PoolSpec = z.strictObject({
  name: z.string().regex(POOL_NAME, 'must be 1 to 63 of a-z, 0-9 and inner hyphens'),
  ...settings,
});
export type PoolSpec = z.infer<typeof PoolSpec>;

/** The last instant that a date can show; one beyond it no page and no table could print. */
const EPOCH_MS_MAX = 8_640_000_000_000_000;
const epochMs = z.int().min(0).max(EPOCH_MS_MAX);

export const KeyBody = z.strictObject({
  name: z.string().min(1).regex(PRINTABLE, 'must be at most 128 printable characters'),
  expiresAt: epochMs.nullish().transform((value) => value ?? null),
});

export const PauseBody = z.strictObject({
  untilMs: epochMs.nullish().transform((value) => value ?? null),
  reason: label.nullish().transform((value) => value || null),
});

/** A number in a query string. */
const digits = z.string().regex(/^\d{1,16}$/, 'must be a whole number').transform(Number);

export const ChangesParams = z.object({ limit: digits.pipe(whole(1, 1_000)).default(100) });

export const LogParams = z.object({
  limit: digits.pipe(whole(1, 1_000)).default(100),
  cursor: z.string().max(64).optional(),
  outcome: z.enum(LOGGED_OUTCOMES).or(z.literal('').transform(() => undefined)).optional(),
  keyId: z.string().max(64).optional(),
  since: digits.optional(),
  until: digits.optional(),
});

/** As much of what the schema found as is looked at here. */
type Found = Pick<z.ZodError, 'issues'>;

const ISSUES_MAX = 20;
const NAME_MAX = 100;

/** What is said of a field that no schema names. */
export const NO_FIELD = 'is no known field';

/** What is wrong, one issue a field, in the words of the schema; the path '' is the whole. */
export function issuesOf(error: Found): Issue[] {
  const at = (path: readonly PropertyKey[], reason: string) => ({
    path: path.map((step) => String(step).slice(0, NAME_MAX)).join('.'),
    reason,
  });
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, ISSUES_MAX).map((key) => at([...issue.path, key], NO_FIELD))
      : [at(issue.path, issue.message)]
  ).slice(0, ISSUES_MAX);
}

/** What is said of a body that its schema refuses: the first issue as a sentence, and all. */
export function complaintOf(error: Found): { message: string; more: { issues: Issue[] } } {
  const issues = issuesOf(error);
  const [{ path, reason } = { path: '', reason: 'is not valid' }] = issues;
  const message = path === '' ? `The body ${reason}.` : `${path}: ${reason}`;
  return { message, more: { issues } };
}
