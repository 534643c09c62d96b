/**
 * Reads the upstream's strain from the time to the first byte of proxied calls: where the mean of a
 * window exceeds the best known, calls queue at the upstream, and their number is the level times
 * the excess share. It only holds growth, or asks for a lower level; where a lower level does not
 * make answers faster, the slowness is the upstream's own and becomes the new normal.
 */
const WINDOW_MS_MIN = 1000;
const SAMPLES_MIN = 12;
/** Times are whole ms, and 0 is no measure of anything. */
const MS_MIN = 1;
/** One slow answer counts as so many times the best, at most. */
const CLIP = 4;
/** The best is the least of a smoothed series: one lucky window must not pin it low. */
const SMOOTHING = 0.1;
const HOLD_RATIO = 1.06;
const CUT_RATIO = 1.12;
const QUEUE_HOLDS = 1;
const QUEUE_CUTS = 2;
const LEVEL_LOWERED = 0.8;
const TIME_LOWERED = 0.95;
/** Answers of calls from before a cut are still coming in for so long. */
const SETTLE_WINDOWS = 2;
const CUT_FORGOTTEN_WINDOWS = 10;
/** Where answers differ this much by nature, their times say nothing. */
const NOISY_CV = 1;

export type Strain =
  | { readonly kind: 'none' }
  | { readonly kind: 'slow' | 'ownSlowness'; readonly level: number; readonly because: string };

const NONE: Strain = { kind: 'none' };

export class Gradient {
  #count = 0;
  #sumMs = 0;
  #squares = 0;
  #fromMs = -Infinity;
  #windows = 0;
  #smoothMs = 0;
  #bestMs = Infinity;
  /** Slowness was measured in the last whole window. */
  #isSlow = false;
  /** The level was raised in this window. */
  #hasGrown = false;
  /** The level and time before the first of a series of cuts, to see whether they helped. */
  #cut: { level: number; meanMs: number; windows: number } | null = null;

  /** Whether the level may be raised once more in this window. */
  get mayGrow(): boolean {
    return !this.#isSlow && !this.#hasGrown;
  }

  /** Whether answers were measured to be slower at this level than at lower ones. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  grew(): void {
    if (this.#fromMs !== -Infinity) this.#hasGrown = true;
  }

  /** One answer's time; at the end of a window, what it says of the level in force. */
  sample(nowMs: number, firstByteMs: number, level: number): Strain {
    if (this.#fromMs === -Infinity) this.#fromMs = nowMs;
    const clippedMs = Math.min(Math.max(MS_MIN, firstByteMs), CLIP * this.#bestMs);
    this.#count += 1;
    this.#sumMs += clippedMs;
    this.#squares += clippedMs * clippedMs;
    const meanMs = this.#sumMs / this.#count;
    if (this.#count < SAMPLES_MIN) return NONE;
    if (nowMs - this.#fromMs < Math.max(WINDOW_MS_MIN, 2 * meanMs)) return NONE;
    const variance = Math.max(0, this.#squares / this.#count - meanMs * meanMs);
    this.#count = 0;
    this.#sumMs = 0;
    this.#squares = 0;
    this.#fromMs = nowMs;
    this.#hasGrown = false;
    this.#isSlow = false;
    if (variance <= (NOISY_CV * meanMs) ** 2) return this.#judge(meanMs, level);
    return NONE;
  }

  #judge(meanMs: number, level: number): Strain {
    this.#remember(meanMs);
    const ratio = meanMs / this.#bestMs;
    const queued = level * (1 - 1 / ratio);
    this.#isSlow = ratio >= HOLD_RATIO && queued >= QUEUE_HOLDS;
    if (this.#cut !== null && ++this.#cut.windows < SETTLE_WINDOWS) return NONE;
    const own = this.#checkCut(meanMs, level);
    if (own !== null) return own;
    if (ratio < CUT_RATIO || queued < QUEUE_CUTS) return NONE;
    this.#cut ??= { level, meanMs, windows: 0 };
    this.#cut.windows = 0;
    const lowered = Math.floor(level * Math.max(0.5, HOLD_RATIO / ratio));
    const because = `answers took ${ratio.toFixed(2)} times as long as the best`;
    return { kind: 'slow', level: Math.min(level - 1, lowered), because };
  }

  #remember(meanMs: number): void {
    this.#windows += 1;
    const weight = Math.max(SMOOTHING, 1 / this.#windows);
    this.#smoothMs += weight * (meanMs - this.#smoothMs);
    this.#bestMs = Math.min(this.#bestMs, this.#smoothMs);
  }

  /** Did lower levels make answers faster? If not, the slowness is not ours. */
  #checkCut(meanMs: number, level: number): Strain | null {
    const cut = this.#cut;
    if (cut === null) return null;
    const isLowered = level < LEVEL_LOWERED * cut.level;
    if (!isLowered) {
      if (cut.windows > CUT_FORGOTTEN_WINDOWS) this.#cut = null;
      return null;
    }
    this.#cut = null;
    if (meanMs <= TIME_LOWERED * cut.meanMs) return null;
    this.#smoothMs = meanMs;
    this.#bestMs = meanMs;
    this.#isSlow = false;
    const because = 'a lower level did not make answers faster';
    return { kind: 'ownSlowness', level: cut.level, because };
  }
}
