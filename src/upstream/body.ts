/**
 * The rate hints that some vendors put into a JSON body, and the codes by which others refuse with
 * a status that does not say so. It takes any value and never throws: a body is whatever the
 * upstream, or a caller who reports of it, has sent. It must never keep a body or any text of it.
 */
import type { Finding } from './dialect.ts';
import { boundedWait, longestOf, readDuration, readReset } from './reset.ts';
import { isObject } from '../json.ts';

export interface BodyHints {
  readonly findings: readonly Finding[];
  /** Rate headers of another upstream behind this one, repeated in the body. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A list in a body is looked at no further. */
const ENTRIES_MAX = 32;
/** A body given as text is parsed up to this length only; hints stand in short ones. */
const TEXT_LENGTH_MAX = 65_536;

export function readBody(body: unknown, nowMs: number): BodyHints | undefined {
  const root = rootOf(body);
  if (root === undefined) return undefined;
  const findings: Finding[] = [];
  const waitMs = longestOf([...retryDelays(root), ...krakenWaits(root, nowMs)]);
  if (waitMs !== undefined) findings.push({ mark: { key: '' }, retryAfterMs: waitMs });
  const points = throttleStatus(root);
  if (points !== undefined) {
    const { limit, remaining, restoredIn } = points;
    const resetMs = boundedWait(restoredIn(limit));
    const mark = { key: 'points', unit: 'points' } as const;
    findings.push({ mark, limit, remaining, ...(resetMs === undefined ? {} : { resetMs }) });
  }
  const headers = relayedHeaders(root);
  if (findings.length === 0 && headers === undefined) return undefined;
  return { findings, ...(headers === undefined ? {} : { headers }) };
}

/** Ms until a refused query of points would be let through, where the body tells its cost. */
export function pointsWaitMs(body: unknown): number | undefined {
  const root = rootOf(body);
  const cost = numberOf(objectOf(objectOf(root?.['extensions'])?.['cost'])?.['requestedQueryCost']);
  const status = root === undefined ? undefined : throttleStatus(root);
  if (cost === undefined || status === undefined) return undefined;
  return boundedWait(status.restoredIn(Math.min(cost, status.limit)));
}

/** The codes, reasons and messages by which bodies tell errors, upper case. */
export function errorCodes(body: unknown): string[] {
  const root = rootOf(body);
  if (root === undefined) return [];
  const codes: unknown[] = [root['message']];
  const error = root['error'];
  if (Array.isArray(error)) codes.push(...error.slice(0, ENTRIES_MAX));
  for (const entry of [...listOf(root['errors']), ...listOf(objectOf(error)?.['errors'])]) {
    const one = objectOf(entry);
    codes.push(
      one?.['type'],
      one?.['reason'],
      one?.['code'],
      objectOf(one?.['extensions'])?.['code'],
    );
  }
  const code = objectOf(error)?.['code'];
  if (typeof code === 'number') codes.push(String(code));
  return codes.filter((text) => typeof text === 'string').map((text) => text.toUpperCase());
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The object at the root; some answer with a list of one error, some give the body as text. */
function rootOf(body: unknown): JsonObject | undefined {
  let value = body;
  if (typeof value === 'string') {
    if (value.length > TEXT_LENGTH_MAX || !/^\s{0,8}[{[]/.test(value)) return undefined;
    try {
      value = JSON.parse(value);
    } catch {
      return undefined;
    }
  }
  return objectOf(Array.isArray(value) ? value[0] : value);
}

function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, ENTRIES_MAX) : [];
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Google APIs: `error.details[]` holds a RetryInfo with `retryDelay: "57.2s"`. */
function retryDelays(root: JsonObject): (number | undefined)[] {
  return listOf(objectOf(root['error'])?.['details']).map((detail) => {
    const delay = objectOf(detail)?.['retryDelay'];
    const ms = typeof delay === 'string' ? readDuration(delay.trim()) : undefined;
    return ms === undefined ? undefined : boundedWait(ms);
  });
}

/** Kraken: `error: ["EService: Throttled: 1767225630"]`, an epoch in s. */
function krakenWaits(root: JsonObject, nowMs: number): (number | undefined)[] {
  return listOf(root['error']).map((text) => {
    const epoch = typeof text === 'string' && text.length < 100
      ? /^EService: ?Throttled: ?(\d{9,13})$/.exec(text)?.[1]
      : undefined;
    return epoch === undefined ? undefined : readReset(epoch, nowMs, 'auto');
  });
}

interface Points {
  readonly limit: number;
  readonly remaining: number;
  /** Ms until that many points are there. */
  restoredIn(points: number): number;
}

/** Shopify GraphQL: a bucket of points that refills steadily. */
function throttleStatus(root: JsonObject): Points | undefined {
  const cost = objectOf(objectOf(root['extensions'])?.['cost']);
  const status = objectOf(cost?.['throttleStatus']);
  const limit = numberOf(status?.['maximumAvailable']);
  const remaining = numberOf(status?.['currentlyAvailable']);
  const restoreRate = numberOf(status?.['restoreRate']);
  if (limit === undefined || remaining === undefined) return undefined;
  const restoredIn = (points: number) => (points - remaining) / (restoreRate ?? 0) * 1_000;
  return { limit, remaining, restoredIn };
}

/** OpenRouter: `error.metadata.headers` repeats the rate headers, its own or its provider's. */
function relayedHeaders(root: JsonObject): Readonly<Record<string, string>> | undefined {
  const headers = objectOf(objectOf(objectOf(root['error'])?.['metadata'])?.['headers']);
  if (headers === undefined) return undefined;
  const kept = Object.entries(headers).slice(0, ENTRIES_MAX)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(kept);
}
