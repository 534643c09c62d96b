/**
 * The stored text of what a governor learned: instants are epoch ms in it, so that they mean the
 * same to the next process. What is read back may be of another version, or damaged: each part that
 * makes no sense is left out, and nothing here throws.
 */
import { CEILINGS } from '../ceilings.ts';
import type { Saved, SavedWindow } from '../core/governor/governor.ts';

/** The last instant that a date can show. */
const EPOCH_MS_MAX = 8_640_000_000_000_000;
/** More than any governor saves. */
const ENTRIES_MAX = 1000;

/** With epoch instants. */
export function shifted(saved: Saved, shiftMs: number): Saved {
  if (shiftMs === 0) return saved;
  const { pausedUntilMs, tokens, starts, windows, distrustedUntilMs, refusals } = saved;
  const pair = ([atMs, amount]: Pair): Pair => [atMs + shiftMs, amount];
  return {
    ...saved,
    atMs: saved.atMs + shiftMs,
    pausedUntilMs: pausedUntilMs === null ? null : pausedUntilMs + shiftMs,
    ...(tokens && { tokens: tokens.map(pair) }),
    ...(starts && { starts: starts.map(pair) }),
    ...(windows && {
      windows: windows.map((window) => ({ ...window, resetAtMs: window.resetAtMs + shiftMs })),
    }),
    ...(distrustedUntilMs && { distrustedUntilMs: distrustedUntilMs + shiftMs }),
    ...(refusals && { refusals: refusals.map(pair) }),
  };
}

/** What an earlier process saved; its epoch instants are the core's at a start. Null for junk. */
export function savedOf(text: string): Saved | null {
  const told = fieldsOf(text);
  const { atMs, level, perSecond, cycleMs, trialPerSecond } = told;
  const { pausedUntilMs, distrustedUntilMs } = told;
  const tokens = pairsOf(told['tokens']);
  const windows = listOf(told['windows'], isWindow);
  const refusals = pairsOf(told['refusals']);
  if (!isInstant(atMs) || !isLevel(level)) return null;
  return {
    atMs,
    level,
    perSecond: isRate(perSecond) ? perSecond : null,
    cycleMs: isAmount(cycleMs) && cycleMs <= CEILINGS.resetMs ? cycleMs : 0,
    pausedUntilMs: isInstant(pausedUntilMs) ? pausedUntilMs : null,
    ...(isRate(trialPerSecond) && { trialPerSecond }),
    ...(tokens.length > 0 && { tokens }),
    // That none came is worth knowing, too.
    ...(Array.isArray(told['starts']) && { starts: pairsOf(told['starts']) }),
    ...(windows.length > 0 && { windows }),
    ...(isInstant(distrustedUntilMs) && { distrustedUntilMs }),
    ...(refusals.length > 0 && { refusals }),
  };
}

type Pair = readonly [atMs: number, amount: number];
type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value as Fields : {};
  } catch {
    return {};
  }
}

function listOf<T>(value: unknown, isOne: (entry: unknown) => entry is T): T[] {
  return Array.isArray(value) ? value.slice(0, ENTRIES_MAX).filter(isOne) : [];
}

/** Oldest first: what counts them wants no other order. */
function pairsOf(value: unknown): Pair[] {
  return listOf(value, isPair).sort(([a], [b]) => a - b);
}

function isPair(value: unknown): value is Pair {
  return Array.isArray(value) && isInstant(value[0]) && isAmount(value[1]);
}

function isWindow(value: unknown): value is SavedWindow {
  if (typeof value !== 'object' || value === null) return false;
  const { unit, key, limit, remaining, resetAtMs, windowMs } = value as Fields;
  return (unit === 'starts' || unit === 'tokens') && (key === null || typeof key === 'string') &&
    isAmount(limit) && limit > 0 && isAmount(remaining) && isInstant(resetAtMs) &&
    isAmount(windowMs) && windowMs <= CEILINGS.resetMs;
}

/** Null: none was learned. */
function isLevel(value: unknown): value is number | null {
  return value === null || (isAmount(value) && value >= 1);
}

function isRate(value: unknown): value is number {
  return isAmount(value) && value > 0;
}

function isInstant(value: unknown): value is number {
  return isAmount(value) && value <= EPOCH_MS_MAX;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
