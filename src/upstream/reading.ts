/**
 * Adds up the windows that were read to one reading: which of them are told twice, which one binds,
 * and which are worth listing. It sees numbers only, never a header's name or text.
 */
import type { RateReading, RateWindow } from '../core/outcome.ts';
import { bindingOf, type Window } from './binding.ts';
import { type Family, known, windowsOf } from './windows.ts';

export interface Found {
  readonly families: Map<string, Family>;
  retry?: { readonly rank: number; readonly ms: number };
  scope?: string;
  /** A scope that was told by a flag only. */
  flag?: string | undefined;
}

/** More windows than any upstream has; the rest is not looked at, as they are compared in pairs. */
const WINDOWS_MAX = 64;

/** The normal form of all that was found. */
export function summarize(found: Found): RateReading {
  const families = [...found.families.entries()].sort(([, a], [, b]) => a.rank - b.rank);
  const all = families.flatMap(([name, family]) => windowsOf(name, family));
  const windows = foldTwins(all.slice(0, WINDOWS_MAX));
  const calls = windows.filter((window) => window.mark.unit !== 'tokens');
  const tokens = windows.filter((window) => window.mark.unit === 'tokens');
  const call = bindingOf(calls);
  const token = bindingOf(tokens);
  const listed = list([{ windows: calls, binding: call }, { windows: tokens, binding: token }]);
  const top = { ...call?.twin, ...call };
  const tokenTop = { ...token?.twin, ...token };
  return known({
    limit: top.limit,
    remaining: top.remaining,
    used: top.limit === undefined && top.remaining === undefined ? top.used : undefined,
    resetMs: top.resetMs,
    refills: top.resetMs === undefined ? undefined : call?.mark.refills,
    windowMs: top.windowMs,
    tokenLimit: tokenTop.limit,
    tokenRemaining: tokenTop.remaining,
    tokenResetMs: tokenTop.resetMs,
    tokenRefills: tokenTop.resetMs === undefined ? undefined : token?.mark.refills,
    retryAfterMs: found.retry?.ms,
    scope: found.scope ?? found.flag ?? scopeOf(call, listed !== undefined),
    windows: listed,
  });
}

function scopeOf(binding: Window | undefined, areSeveral: boolean): string | undefined {
  const { name, namesScope } = binding?.mark ?? {};
  return namesScope === 'always' || namesScope === 'several' && areSeveral ? name : undefined;
}

interface Group {
  readonly windows: readonly Window[];
  readonly binding: Window | undefined;
}

/**
 * Windows are worth listing where the top of the reading does not tell all: several gate the same
 * thing, or one gates what has no field there. Then a lone window of the other kind is listed as
 * well if it has a length of its own.
 */
function list(groups: readonly Group[]): RateWindow[] | undefined {
  const isTold = ({ windows, binding }: Group) => {
    const listed = windows.filter((window) => window.isListed);
    return listed.length === 0 || listed.length === 1 && binding !== undefined;
  };
  if (groups.every(isTold)) return undefined;
  const chosen = groups.flatMap((group) =>
    group.windows.filter((window) =>
      window.isListed && (!isTold(group) || window.windowMs !== undefined)
    )
  );
  return chosen.map((window) =>
    known<RateWindow>({
      name: window.mark.name,
      unit: window.mark.unit,
      limit: window.limit,
      remaining: window.remaining,
      used: window.remaining === undefined && window.limit === undefined ? window.used : undefined,
      usedPercent: window.usedPercent,
      resetMs: window.resetMs,
      windowMs: window.windowMs,
    })
  );
}

/** Two families often tell one window; the more telling stays, and borrows what it lacks. */
function foldTwins(windows: readonly Window[]): Window[] {
  const kept: Window[] = [];
  for (const window of windows) {
    const at = kept.findIndex((other) => areTwins(other, window));
    const other = kept[at];
    if (other === undefined) kept.push(window);
    else {kept[at] = isTelling(window) && !isTelling(other)
        ? withTwin(window, other)
        : withTwin(other, window);}
  }
  return kept;
}

function isTelling({ windowMs, mark }: Window): boolean {
  return windowMs !== undefined || mark.name !== undefined;
}

function withTwin(window: Window, twin: Window): Window {
  const { resetMs, windowMs } = { ...window.twin, ...twin };
  return { ...window, twin: known({ resetMs, windowMs }) };
}

function areTwins(a: Window, b: Window): boolean {
  const areApart = a.family !== b.family || (a.mark.key === '') !== (b.mark.key === '');
  if (!areApart || a.mark.isAside || b.mark.isAside) return false;
  if (a.limit === undefined || a.remaining === undefined) return false;
  return a.limit === b.limit && a.remaining === b.remaining &&
    agree(a.mark.unit ?? 'requests', b.mark.unit ?? 'requests') &&
    agree(a.windowMs, b.windowMs) && agree(a.mark.name, b.mark.name);
}

function agree<T>(a: T | undefined, b: T | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}
