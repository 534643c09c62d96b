/**
 * Which of several windows binds: an exhausted one first, and of those the one that resets last, or
 * is the longest where no reset is told; else the one of which the smallest share is left. It must
 * only ever pick among windows that have a place at the top of a reading.
 */
import type { RateWindow } from '../core/outcome.ts';
import type { Mark } from './dialect.ts';

/** One window with its meaning settled. */
export interface Window extends Omit<RateWindow, 'name' | 'unit'> {
  readonly family: string;
  readonly mark: Mark;
  /** Whether it is told in the reading's `windows`, where those are told. */
  readonly isListed: boolean;
  /** What another family says of this same window, for what this one leaves out. */
  readonly twin?: { readonly resetMs?: number; readonly windowMs?: number };
}

/** The binding window, or undefined where none has a place at the top; the first wins a tie. */
export function bindingOf(windows: readonly Window[]): Window | undefined {
  const eligible = windows.filter(isEligible);
  const wide = eligible.filter((window) => !window.mark.isStandby);
  const candidates = wide.some(isCounted)
    ? wide
    : eligible.filter((window) => !window.mark.isStandby || window.remaining !== undefined);
  let binding: Window | undefined;
  for (const window of candidates) {
    if (binding === undefined || isTighter(window, binding)) binding = window;
  }
  return binding;
}

function isEligible({ mark, usedPercent }: Window): boolean {
  const hasPlace = mark.unit === undefined || mark.unit === 'requests' || mark.unit === 'tokens';
  return hasPlace && !mark.isAside && usedPercent === undefined;
}

function isCounted({ limit, remaining }: Window): boolean {
  return limit !== undefined || remaining !== undefined;
}

function isTighter(a: Window, b: Window): boolean {
  const byClass = classOf(a) - classOf(b);
  if (byClass !== 0) return byClass < 0;
  if (a.remaining === undefined || b.remaining === undefined) return false;
  if (a.remaining === 0) {
    return (shutMs(a) - shutMs(b) || (a.windowMs ?? 0) - (b.windowMs ?? 0)) > 0;
  }
  // The shares of the two limits that are left, compared without a division by 0.
  const [ofA, ofB] = [a.limit, b.limit];
  if (ofA === undefined || ofB === undefined) return a.remaining < b.remaining;
  return a.remaining * ofB < b.remaining * ofA;
}

/** Ms until an exhausted window opens, as far as it is told. */
function shutMs({ resetMs, twin }: Window): number {
  return resetMs ?? twin?.resetMs ?? 0;
}

/** How much a window tells of how near its end is: 0 is the most. */
function classOf({ limit, remaining, used }: Window): number {
  if (remaining === 0) return 0;
  if (remaining !== undefined) return limit === undefined ? 2 : 1;
  if (limit !== undefined) return 3;
  return used === undefined ? 5 : 4;
}
