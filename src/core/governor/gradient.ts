/**
 * Reads the upstream's strain from the time to the first byte of proxied calls: where the median of
 * a window exceeds the best median seen, calls queue at the upstream, and their number is the level
 * times the excess share. It only holds growth, or asks for a lower level; when a lower level did
 * not make calls faster, the slowness is the upstream's own and becomes the new normal.
 */
const WINDOW_MS_MIN = 1000;
const SAMPLES_MIN = 12;
const SAMPLES_MAX = 64;
const HOLD_RATIO = 1.06;
const CUT_RATIO = 1.12;
const VERIFY_WINDOWS = 3;
const LEVEL_LOWERED = 0.8;
const LATENCY_LOWERED = 0.9;
const NOISY_CV = 1;

export type Strain =
  | { readonly kind: 'none' }
  | { readonly kind: 'slow' | 'ownSlowness'; readonly level: number; readonly because: string };

const NONE: Strain = { kind: 'none' };

export class Gradient {
  /** Made with the first sample: most pools never see one. */
  #samples: Float32Array | null = null;
  #count = 0;
  #fromMs = -Infinity;
  #baseMs = Infinity;
  #mayGrow = true;
  #cut: { level: number; medianMs: number; windows: number } | null = null;

  /** Whether the level may be raised once more in this window. */
  get mayGrow(): boolean {
    return this.#samples === null || this.#mayGrow;
  }

  grew(): void {
    this.#mayGrow = false;
  }

  /** One answer's time; at the end of a window, what it says of the level in force. */
  sample(nowMs: number, firstByteMs: number, level: number): Strain {
    this.#samples ??= new Float32Array(SAMPLES_MAX);
    if (this.#fromMs === -Infinity) this.#fromMs = nowMs;
    this.#samples[this.#count % SAMPLES_MAX] = firstByteMs;
    this.#count += 1;
    const isLong = nowMs - this.#fromMs >= Math.max(WINDOW_MS_MIN, 2 * firstByteMs);
    if (this.#count < SAMPLES_MIN || !isLong) return NONE;
    const sorted = this.#samples.slice(0, Math.min(this.#count, SAMPLES_MAX)).sort();
    this.#count = 0;
    this.#fromMs = nowMs;
    if (variation(sorted) > NOISY_CV) {
      this.#mayGrow = true;
      return NONE;
    }
    return this.#judge(sorted[sorted.length >> 1]!, level);
  }

  #judge(medianMs: number, level: number): Strain {
    this.#baseMs = Math.min(this.#baseMs, medianMs);
    const ratio = medianMs / this.#baseMs;
    this.#mayGrow = ratio < HOLD_RATIO || level * (1 - 1 / ratio) < 1;
    const cut = this.#cut;
    if (cut !== null) {
      cut.windows += 1;
      if (cut.windows < VERIFY_WINDOWS) return NONE;
      this.#cut = null;
      const isLowered = level < LEVEL_LOWERED * cut.level;
      if (isLowered && medianMs > LATENCY_LOWERED * cut.medianMs) {
        this.#baseMs = medianMs;
        const because = 'a lower level did not make answers faster';
        return { kind: 'ownSlowness', level: cut.level, because };
      }
    }
    if (ratio < CUT_RATIO || level * (1 - 1 / ratio) < 2) return NONE;
    this.#cut = { level, medianMs, windows: 0 };
    const lowered = Math.floor(level * Math.max(0.5, HOLD_RATIO / ratio));
    const because = `answers took ${ratio.toFixed(2)} times as long as the best`;
    return { kind: 'slow', level: Math.min(level - 1, lowered), because };
  }
}

function variation(sorted: Float32Array): number {
  let sum = 0;
  let squares = 0;
  for (const value of sorted) {
    sum += value;
    squares += value * value;
  }
  const mean = sum / sorted.length;
  return mean === 0 ? 0 : Math.sqrt(Math.max(0, squares / sorted.length - mean * mean)) / mean;
}
