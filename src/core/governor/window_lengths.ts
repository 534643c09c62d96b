/**
 * How long each of an upstream's windows is. Most headers tell only when a window resets, so its
 * length is bounded from both sides: no shorter than the longest wait for its reset, no longer than
 * the span between two resets in turn. One answer that is far off is thus forgotten with the next
 * window. What is known of one window says nothing of one of another limit or name: calls of
 * several kinds, or to several hosts, may be told of theirs in turn.
 */

/** Resets this close are of one window. */
export const SAME_WINDOW_MS = 1500;
/** Windows that are told in turn come again within this time... */
const RECENT_MS = 60_000;
/** ...or, of one name, within so many of their own lengths: else another limit took their place. */
const RECENT_LENGTHS = 3;
/** More than any upstream tells in turn; the one that was told longest ago goes. */
const WINDOWS_MAX = 8;

/** What one answer says of a window; ms, units. */
export interface WindowReport {
  /** What it is a limit of, where the upstream says so; '' elsewhere. */
  readonly name: string;
  /** Its name and limit: what tells it from others. */
  readonly key: string;
  readonly limit: number;
  readonly resetMs: number;
  /** Its length, where the upstream states it. */
  readonly windowMs: number | undefined;
  /** It fills bit by bit, and resets when it is full: no length follows from that. */
  readonly refills: boolean;
}

interface Known {
  name: string;
  limit: number;
  windowMs: number;
  /** What was known of the length before the window that runs now. */
  beforeMs: number;
  resetAtMs: number;
  toldAtMs: number;
  /** Whether the length is worth telling; to pace a few starts it always is. */
  isTold: boolean;
}

export class WindowLengths {
  /** The one that was told last comes last. */
  readonly #known = new Map<string, Known>();
  #lastName = '';

  /** The length, ms, of the window that a report is of, as far as it is known with it. */
  note(nowMs: number, report: WindowReport): number {
    const { key, name, limit, resetMs, windowMs, refills } = report;
    const known = this.#known.get(key) ?? this.#resettingAt(nowMs + resetMs, name);
    const length = followed(known, nowMs, resetMs);
    const isTold = windowMs !== undefined || !refills;
    const next = { ...length, name, limit, toldAtMs: nowMs, isTold };
    if (windowMs !== undefined) next.windowMs = windowMs;
    this.#known.delete(key);
    this.#known.set(key, next);
    this.#lastName = name;
    const [oldest = key] = this.#known.keys();
    if (this.#known.size > WINDOWS_MAX) this.#known.delete(oldest);
    return next.windowMs;
  }

  /** One that was not told before: another limit for a window that runs, or nothing is known. */
  #resettingAt(resetAtMs: number, name: string): Length {
    for (const known of this.#known.values()) {
      const isSame = Math.abs(resetAtMs - known.resetAtMs) <= SAME_WINDOW_MS;
      if (isSame && known.name === name) return known;
    }
    return { windowMs: 0, beforeMs: 0, resetAtMs };
  }

  /**
   * Units a minute by the widest of the windows told lately, but for those of more than `msMax`;
   * null where no length is known. The one that was told last counts however long ago it was.
   */
  perMinute(nowMs: number, msMax: number): number | null {
    let widest: number | null = null;
    let left = this.#known.size;
    for (const { name, limit, windowMs, toldAtMs, isTold } of this.#known.values()) {
      left -= 1;
      const lengthsMs = name === this.#lastName ? RECENT_LENGTHS * windowMs : Infinity;
      const isRecent = left === 0 || nowMs - toldAtMs < Math.min(RECENT_MS, lengthsMs);
      if (!isRecent || !isTold || windowMs === 0 || windowMs > msMax) continue;
      widest = Math.max(widest ?? 0, (limit * 60_000) / windowMs);
    }
    return widest;
  }
}

type Length = Pick<Known, 'windowMs' | 'beforeMs' | 'resetAtMs'>;

/** What is known of a window's length once it is told to reset in `resetMs`. */
function followed(known: Length, nowMs: number, resetMs: number): Length {
  const { windowMs, beforeMs } = known;
  const resetAtMs = nowMs + resetMs;
  const spanMs = resetAtMs - known.resetAtMs;
  if (Math.abs(spanMs) <= SAME_WINDOW_MS) {
    return { windowMs: Math.max(windowMs, resetMs), beforeMs, resetAtMs: known.resetAtMs };
  }
  // It resets earlier than it was told to: what was concluded from that was wrong.
  if (spanMs < 0) return { windowMs: Math.max(beforeMs, resetMs), beforeMs, resetAtMs };
  const isTurn = nowMs >= known.resetAtMs - SAME_WINDOW_MS;
  const longestMs = isTurn ? Math.min(windowMs, spanMs) : windowMs;
  return { windowMs: Math.max(longestMs, resetMs), beforeMs: windowMs, resetAtMs };
}
