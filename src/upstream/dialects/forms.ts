/**
 * What rows are made of: the names that a plain family has under any prefix, and readers of values
 * that have a form of their own (`39/40`, `20:1,100:120`, JSON). A reader is pure and total: what
 * it cannot read gives no finding, and it never looks at more than the first 64 entries.
 */
import type { Cell, Finding, Mark } from '../dialect.ts';
import { readPairs, splitList } from '../items.ts';
import { PLAIN } from '../names.ts';
import { boundedWait, readDecimal } from '../reset.ts';
import { isObject } from '../../json.ts';

/** The names of a plain family: limit, remaining, reset, and what goes with them. */
export function plain(prefix: string): Record<string, Cell> {
  return {
    [`${prefix}{field}`]: {},
    [`${prefix}resettime`]: { field: 'resetTime' },
    [`${prefix}reset-time`]: { field: 'resetTime' },
    [`${prefix}retry-after`]: { field: 'retryAfter', unit: 'auto' },
    [`${prefix}window`]: { field: 'window' },
    [`${prefix}window-size`]: { field: 'window' },
    [`${prefix}duration`]: { field: 'window' },
    [`${prefix}interval-seconds`]: { field: 'window' },
    [`${prefix}policy`]: { field: 'policy' },
    [`${prefix}scope`]: { field: 'scope' },
    [`${prefix}resource`]: { field: 'scope' },
    [`${prefix}name`]: { field: 'scope' },
    [`${prefix}reason`]: { field: 'scope' },
  };
}

/** Words in a free part of a name that say that something else is counted, or a twin. */
const NO_REQUESTS = new RegExp(
  'token|second|minute|hour|day|month|year|image|audio|byte|bandwidth|char|' +
    'cost|credit|point|complex|unit|dynamic',
);

/** Whether a window of that name may count requests, for all that its name says. */
export function countsRequests(name: string): boolean {
  return !NO_REQUESTS.test(name);
}

/** A count that a value with a form of its own tells; no sign, no fraction, no infinity. */
function readCount(text: string | undefined): number | undefined {
  const number = text === undefined ? undefined : readDecimal(text.trim());
  return number !== undefined && number >= 0 && number <= Number.MAX_SAFE_INTEGER
    ? number
    : undefined;
}

function secondsMs(text: string | undefined): number | undefined {
  const seconds = readCount(text);
  return seconds === undefined ? undefined : boundedWait(seconds * 1_000);
}

/** A finding without its unknown fields; exactOptionalPropertyTypes wants them absent. */
function finding(
  mark: Mark,
  fields: { [Key in keyof Finding]?: Finding[Key] | undefined },
): Finding {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(kept), mark };
}

/** `39/40`: used of the limit. */
export function readUsedOfLimit(value: string): Finding[] {
  const [used, limit, ...rest] = value.split('/', 3).map(readCount);
  return used === undefined || limit === undefined || rest.length > 0
    ? []
    : [finding(PLAIN, { used, limit })];
}

/** `api-usage=18/5000; per-app-api-usage=17/250(appName=x)`: a window a pair. */
export function readNamedUses(value: string): Finding[] {
  const findings: Finding[] = [];
  for (const [name, pair] of readPairs(value)) {
    const [used, limit] = pair.replace(/\(.*$/, '').split('/', 2).map(readCount);
    if (used === undefined || limit === undefined) continue;
    findings.push(finding({ key: name, name, namesScope: 'several' }, { used, limit }));
  }
  return findings.slice(0, 64);
}

/** `total=100; remaining=99; resets=41`: the narrower gate of one endpoint. */
export function readEndpoint(value: string, name: string): Finding[] {
  const pairs = readPairs(value);
  const limit = readCount(pairs.get('total'));
  const remaining = readCount(pairs.get('remaining'));
  const resetMs = secondsMs(pairs.get('resets'));
  if (limit === undefined && remaining === undefined) return [];
  return [finding({ key: name, name, isAside: true }, { limit, remaining, resetMs })];
}

/** `20:1,100:120`: a count and the seconds of its window; the count is a limit, or what is used. */
export function readCountsByWindow(name: string, field: 'limit' | 'used') {
  return (value: string): Finding[] =>
    splitList(value).flatMap((entry) => {
      const [count, seconds] = entry.split(':', 2).map(readCount);
      const windowMs = (seconds ?? 0) * 1_000;
      if (count === undefined || windowMs === 0) return [];
      return [finding({ key: `${name} ${windowMs}`, name, windowMs }, { [field]: count })];
    });
}

/** `5:10:60`: hits, the period in s, and the ban that is the penalty, or that is in force. */
export function readHits(field: 'limit' | 'used') {
  return (value: string, name: string): Finding[] => {
    const entries = splitList(value).map((entry) => entry.split(':', 4).map(readCount));
    const areHits = entries.every((entry) =>
      entry.length === 3 && entry.every((part) => part !== undefined)
    );
    if (!areHits) return [];
    return entries.map(([count, seconds = 0, ban = 0]) => {
      const windowMs = seconds * 1_000;
      const retryAfterMs = field === 'used' && ban > 0 ? boundedWait(ban * 1_000) : undefined;
      const mark = { key: `${name} ${windowMs}`, name, windowMs };
      return finding(mark, { [field]: count, retryAfterMs });
    });
  };
}

/** `197` under a policy's name, or `policy;197,other;1297`. */
export function readRemainders(value: string, name: string): Finding[] {
  const remaining = readCount(value);
  if (remaining !== undefined) return [finding({ key: name, name }, { remaining })];
  return splitList(value).flatMap((entry) => {
    const [policy = '', count, ...rest] = entry.split(';', 3);
    const left = readCount(count);
    if (policy === '' || left === undefined || rest.length > 0) return [];
    return [finding({ key: policy, name: policy }, { remaining: left })];
  });
}

/** `60:transaction:key, 2700:default;error:organization`: seconds, and what may not be sent. */
export function readCategoryBans(value: string): Finding[] {
  const waits = splitList(value).flatMap((entry) => {
    const [seconds, categories] = entry.split(':', 3);
    const waitMs = secondsMs(seconds);
    return waitMs === undefined ? [] : [{ waitMs, isForAll: (categories ?? '').trim() === '' }];
  });
  if (waits.length === 0) return [];
  // A ban of one category leaves the others: the shortest tells when something may be sent again.
  const forAll = waits.filter((wait) => wait.isForAll).map((wait) => wait.waitMs);
  const shortest = Math.min(...waits.map((wait) => wait.waitMs));
  return [finding(PLAIN, { retryAfterMs: Math.max(shortest, ...forAll) })];
}

const USAGE_FIELDS = ['call_count', 'total_time', 'total_cputime', 'acc_id_util_pct'];

/** `{"call_count":28,"total_time":25}`: percents of limits; calls stop when any of them is full. */
export function readAppUsage(name: string) {
  return (value: string): Finding[] => {
    const usage = parseObject(value);
    const percent = usage === undefined ? undefined : readPercent(usage);
    return percent === undefined ? [] : [finding({ key: name, name }, { usedPercent: percent })];
  };
}

/** As above for each business, with the minutes until calls are let through again. */
export function readBusinessUsage(value: string): Finding[] {
  const findings: Finding[] = [];
  for (const entries of Object.values(parseObject(value) ?? {}).slice(0, 64)) {
    for (const entry of Array.isArray(entries) ? entries.slice(0, 64) : []) {
      if (!isObject(entry)) continue;
      const minutes = entry['estimated_time_to_regain_access'];
      const name = typeof entry['type'] === 'string' ? entry['type'] : 'business';
      if (typeof minutes === 'number' && minutes > 0) {
        const retryAfterMs = boundedWait(minutes * 60_000);
        findings.push(finding({ key: 'blocked' }, { remaining: 0, retryAfterMs }));
      } else {
        const usedPercent = readPercent(entry);
        if (usedPercent !== undefined) findings.push(finding({ key: name, name }, { usedPercent }));
      }
    }
  }
  return findings.slice(0, 64);
}

function readPercent(usage: Record<string, unknown>): number | undefined {
  const percents = USAGE_FIELDS.map((field) => usage[field])
    .filter((percent) => typeof percent === 'number' && percent >= 0 && Number.isFinite(percent));
  return percents.length === 0 ? undefined : Math.max(...percents as number[]);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
