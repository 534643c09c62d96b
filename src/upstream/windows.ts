/**
 * Turns what the headers of one family said into its windows: counts that mean "no limit" fall out,
 * lists become windows side by side, policies give windows their length. It never mixes in what
 * another family said, and never gives a limit that is not positive or a count that is negative.
 */
import type { RateUnit } from '../core/outcome.ts';
import { bindingOf, type Window } from './binding.ts';
import type { Mark } from './dialect.ts';
import { longestOf } from './reset.ts';

export type Values = readonly (number | undefined)[];

/** One window as its headers told it; lists where a header was repeated, or is one. */
export interface Draft {
  readonly mark: Mark;
  /** Partition key (`pk`) of a state, as it stands. */
  partition?: string | undefined;
  limits?: Values;
  remainings?: Values;
  useds?: Values;
  resets?: Values;
  /** Rank of the header that `resets` came from; lower ones are more precise. */
  resetRank: number;
  usedPercent?: number | undefined;
  windowMs?: number | undefined;
}

/** A quota with its window, told apart from how much of it is left. */
export interface Policy {
  readonly quota: number;
  readonly windowMs: number | undefined;
  readonly name: string | undefined;
  /** The name is what joins it with a state; otherwise the quota is. */
  readonly isNamed: boolean;
  readonly partition: string | undefined;
  readonly unit: RateUnit | undefined;
  /** It counts what no field stands for: neither it nor its states may be taken for requests. */
  readonly isForeign: boolean;
}

/** What the headers of one family said. */
export interface Family {
  readonly rank: number;
  readonly drafts: Map<string, Draft>;
  /** Windows that are joined with their policy by name, and partition if both tell it. */
  readonly states: Map<string, Draft>;
  readonly policies: Policy[];
}

export function draftOf(drafts: Map<string, Draft>, mark: Mark): Draft {
  let draft = drafts.get(mark.key);
  if (draft === undefined) {
    draft = { mark, resetRank: Infinity };
    drafts.set(mark.key, draft);
  }
  return draft;
}

/** The windows of one family, its plain one first. */
export function windowsOf(name: string, family: Family): Window[] {
  const plainDraft = family.drafts.get('');
  const plain = plainDraft === undefined ? [] : split(plainDraft, name);
  const others: Window[] = [];
  for (const draft of family.drafts.values()) {
    if (draft !== plainDraft) others.push(...split(draft, name));
  }
  for (const draft of family.states.values()) {
    const named = family.policies.filter((one) => one.isNamed && one.name === draft.mark.name);
    const policy = named.find((one) => one.partition === draft.partition) ?? named[0];
    if (!policy?.isForeign) others.push(...split(draft, name, policy));
  }
  const stated = new Set([...family.states.values()].map(({ mark }) => mark.name));
  const policies = uniqueOf(family.policies).filter((policy) =>
    !policy.isForeign && !(policy.isNamed && stated.has(policy.name))
  );
  if (plain.length === 0) others.push(...policies.map((policy) => asWindow(name, policy)));
  return lendReset([...joinPolicies(name, plain, policies), ...others]);
}

/**
 * One window for each place in its lists. Identical values are one repeated header, which goes for
 * every place; lists of one length are windows side by side. Of resets that no other field goes
 * with, the longest holds; any other list that is alone says nothing.
 */
function split(draft: Draft, family: string, policy?: Policy): Window[] {
  const { limits, remainings, useds, resets = [] } = draft;
  const length = countSideBySide([limits, remainings, useds, draft.resets]);
  const lists = [limits, remainings, useds, length === 1 ? [longestOf(resets)] : resets];
  const mark = policy?.unit === undefined ? draft.mark : { ...draft.mark, unit: policy.unit };
  const windowMs = draft.windowMs ?? mark.windowMs ?? policy?.windowMs;
  const { usedPercent } = draft;
  const areLimited = length > 1 && limits?.some((limit) => limit !== undefined && limit > 0);
  const windows: Window[] = [];
  for (let at = 0; at < length; at++) {
    const [limit, remaining, used, resetMs] = lists.map((list) => valueAt(list, at, length));
    // Beside windows with a limit, one of 0 is not counted: Brave's month, where a plan has none.
    if (areLimited && limit !== undefined && limit <= 0) continue;
    const counts = settle({ limit: limit ?? policy?.quota, remaining, used, resetMs });
    const isEmpty = Object.keys(counts).length === 0 && usedPercent === undefined;
    if (isEmpty && draft.windowMs === undefined) continue;
    const isListed = usedPercent !== undefined || isCounted(counts);
    windows.push(known<Window>({ family, mark, ...counts, usedPercent, windowMs, isListed }));
  }
  return windows;
}

/** The length that all lists with differing values have, if another list has it too; else 1. */
function countSideBySide(lists: readonly (Values | undefined)[]): number {
  const told = lists.filter((list) => list !== undefined);
  const [length = 1, ...others] = told.filter((list) => !isRepeat(list)).map((list) => list.length);
  const isShared = told.filter((list) => list.length === length).length > 1;
  return isShared && others.every((other) => other === length) ? length : 1;
}

/** What a list says of one place; one that is of another length only what all its lines say. */
function valueAt(list: Values | undefined, at: number, length: number): number | undefined {
  if (list === undefined) return undefined;
  if (length > 1 && list.length === length) return list[at];
  return isRepeat(list) ? list.find(isKnown) : undefined;
}

function isRepeat(list: Values): boolean {
  const [first, ...others] = list.filter(isKnown);
  return others.every((value) => value === first);
}

function isKnown(value: number | undefined): value is number {
  return value !== undefined;
}

interface Counts {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly used?: number | undefined;
  readonly resetMs?: number | undefined;
}

function isCounted({ limit, remaining, used }: Counts): boolean {
  return limit !== undefined || remaining !== undefined || used !== undefined;
}

/** What raw counts mean: -1 is "no limit" or "not told", a reset of 0 beside it says nothing. */
function settle({ limit, remaining, used, resetMs }: Counts): Counts {
  const allowed = limit !== undefined && limit > 0 ? limit : undefined;
  const isUnset = remaining === undefined ? (limit ?? 0) < 0 : remaining < 0 && !allowed;
  const spent = used !== undefined && used >= 0 ? used : undefined;
  if (isUnset) return known<Counts>({ used: spent, resetMs: resetMs === 0 ? undefined : resetMs });
  const left = remaining === undefined
    ? allowed !== undefined && spent !== undefined ? Math.max(0, allowed - spent) : undefined
    : Math.max(0, remaining);
  const sum = limit === undefined && left !== undefined && spent !== undefined ? left + spent : 0;
  const whole = allowed ?? (sum > 0 ? sum : undefined);
  return known<Counts>({ limit: whole, remaining: left, used: spent, resetMs });
}

/**
 * Gives the plain windows the length of their policy: the one with the same quota, whose window is
 * no shorter than the time to the reset. Policies that are no window's own are windows beside it.
 */
function joinPolicies(name: string, plain: Window[], policies: readonly Policy[]): Window[] {
  const [first] = plain;
  const [lone] = policies;
  if (first === undefined || lone === undefined) return plain;
  if (plain.length === 1 && policies.length === 1 && first.limit === undefined) {
    const isQuota = lone.unit === undefined && (first.remaining ?? 0) <= lone.quota;
    return isQuota
      ? [known<Window>({ ...first, limit: lone.quota, windowMs: lone.windowMs })]
      : plain;
  }
  const joined = plain.map((window, at) => {
    const sameQuota = policies.filter((policy) => isOf(policy, window));
    const inPlace = plain.length === policies.length ? policies[at] : undefined;
    // Policies with the same quota cannot be told apart, unless they stand as the windows do.
    const policy = inPlace !== undefined && sameQuota.includes(inPlace)
      ? inPlace
      : sameQuota.length === 1
      ? sameQuota[0]
      : undefined;
    const isLongEnough = (policy?.windowMs ?? 0) >= (window.resetMs ?? 0);
    const windowMs = window.windowMs ?? (isLongEnough ? policy?.windowMs : undefined);
    return known<Window>({ ...window, windowMs });
  });
  if (plain.length > 1 || policies.length === 1) return joined;
  const beside = policies.map((policy) => asWindow(name, policy, true));
  return [...joined.map((window) => ({ ...window, isListed: false })), ...beside];
}

/** A policy as a window of its own; aside, where its like is counted by another window already. */
function asWindow(family: string, policy: Policy, isAside = false): Window {
  const { name, unit, quota: limit, windowMs, isNamed } = policy;
  const mark = known<Mark>({
    key: keyOf(policy),
    name,
    unit,
    isAside: isAside ? true : undefined,
    namesScope: isNamed ? 'always' : undefined,
  });
  return known<Window>({ family, mark, limit, windowMs, isListed: true });
}

function keyOf({ name, quota, windowMs }: Policy): string {
  return `policy ${name ?? ''} ${quota} ${windowMs ?? ''}`;
}

/** A policy that is repeated, in its own header or in the limit's, is one. */
function uniqueOf(policies: readonly Policy[]): Policy[] {
  return [...new Map(policies.map((policy) => [keyOf(policy), policy])).values()];
}

function isOf(policy: Policy, window: Window): boolean {
  const countsRequests = policy.unit === undefined || policy.unit === 'requests';
  return countsRequests && policy.quota === window.limit;
}

/** A plain window that counts nothing belongs to the family's binding window: it is its reset. */
function lendReset(windows: Window[]): Window[] {
  const bare = windows.find((window) => window.mark.key === '' && !isCounted(window));
  const counted = windows.filter((window) => isCounted(window) && !window.mark.isAside);
  const calls = counted.filter((window) => window.mark.unit !== 'tokens');
  const binding = bindingOf(calls.length > 0 ? calls : counted);
  if (bare === undefined || binding === undefined) return windows;
  const lent = {
    ...binding,
    ...known<Partial<Window>>({
      resetMs: binding.resetMs ?? bare.resetMs,
      windowMs: binding.windowMs ?? bare.windowMs,
    }),
  };
  return windows.filter((one) => one !== bare).map((one) => one === binding ? lent : one);
}

/** The same object without its unknown fields. */
export function known<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  const kept: Partial<T> = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept as T;
}
