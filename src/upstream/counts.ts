/**
 * Reads the values of headers that tell a count: how many, and for how long. It gives numbers as
 * they stand, negative ones too, as only the rest of the window tells what those mean; but never
 * one that is no count at all.
 */
import type { RateUnit } from '../core/outcome.ts';
import { readItems } from './items.ts';
import { readDecimal, readWindowMs } from './reset.ts';
import type { Policy, Values } from './windows.ts';

/** `100`; `100, 60`; `100;w=60`; of `10, 10;w=1, 50;w=60` only the first, the rest are policies. */
export function readCounts(value: string): Values {
  const whole = readDecimal(value);
  if (whole !== undefined) return [countOf(whole)];
  const items = readItems(value);
  const bare = items.filter((item) => item.parameters.size === 0);
  return (bare.length > 0 ? bare : items).map((item) => countOf(readDecimal(item.value)));
}

/** Numbers beyond what a count can be stand for "no limit". */
export function countOf(number: number | undefined): number | undefined {
  return number !== undefined && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
}

export function percentOf(number: number | undefined): number | undefined {
  return number !== undefined && number >= 0 ? countOf(number) : undefined;
}

/** `10;w=1, 50;w=60`, told apart by quota, and `"a";q=10;w=1`, told apart by name. */
export function readPolicies(value: string): Policy[] {
  const policies: Policy[] = [];
  for (const { value: first, texts, parameters } of readItems(value)) {
    const quota = readDecimal(parameters.get('q') ?? first);
    const quotaUnit = parameters.get('qu');
    const unit = QUOTA_UNITS.get(quotaUnit ?? '');
    const isForeign = quotaUnit !== undefined && unit === undefined;
    if (quota === undefined || quota <= 0 || countOf(quota) === undefined) continue;
    const windowMs = readWindowMs(parameters.get('w') ?? parameters.get('window') ?? '', 'auto');
    const isNamed = parameters.has('q');
    const name = isNamed ? texts.at(-1) ?? first : parameters.get('name');
    if (!isNamed && parameters.size === 0) continue;
    const partition = parameters.get('pk');
    policies.push({ quota, windowMs, name, isNamed, partition, unit, isForeign });
  }
  return policies;
}

/** By what a policy calls them; where it calls none, it counts requests. */
const QUOTA_UNITS: ReadonlyMap<string, RateUnit> = new Map([
  ['requests', 'requests'],
  ['content-bytes', 'content-bytes'],
  ['concurrent-requests', 'concurrent-requests'],
]);
