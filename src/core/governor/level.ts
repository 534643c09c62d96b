/**
 * The search for how many calls the upstream carries at once. A level is raised only once it was
 * proven: a call that started after the last change, with the level full, succeeded. Regimes:
 * growing below the ceiling (ever larger steps, one per round trip); holding at the ceiling (the
 * level that was refused last), with a probe of one more now and then; cut, at most once a flight.
 * It knows of refusals only what blame gave it, and of rates nothing.
 */
/** A probe costs a refused call at most; it may cost 1 in so many calls, and so much time. */
const CALLS_PER_PROBE = 100;
const PROBE_GAP_MS_MIN = 3000;
const PROBE_GAP_MS_MAX = 8000;
const PROBE_GAP_GROWTH = 1.5;
const SLOW_PROBE_GAP_MS_MAX = 60_000;
const SHARED_CUT = 0.85;
const CALM_AFTER_MS = 5000;
/** Growth adds at most this share of the level at once. */
const STEP_SHARE = 1 / 3;

export interface LevelBounds {
  readonly min: number;
  readonly max: number;
}

/** What a change of the level was about; the words are blame's and the status's to choose. */
export type LevelMove = 'grown' | 'probed' | 'probeRefused' | 'refused' | 'shared' | 'again';

export class Level {
  value: number;
  /** The lowest level refused since it was last carried; Infinity where none is known. */
  ceiling = Infinity;
  /** The level that was proven before the last raise. */
  #provenAt = 0;
  #step = 1;
  /** Starts up to this one say nothing about the level in force. */
  #changedSequence = 0;
  /** The level in flight when the last refusal event began: one flight cuts to half at most. */
  #eventLevel = 0;
  #gapMs = PROBE_GAP_MS_MIN;
  #heldFromMs = -Infinity;
  #callsSinceHeld = 0;
  #calm: number;
  #calmFromMs = -Infinity;

  constructor(readonly bounds: LevelBounds, value: number) {
    this.value = clamp(value, bounds);
    this.#calm = this.value;
  }

  get isAtCeiling(): boolean {
    return this.value + 1 >= this.ceiling;
  }

  /** When one more may be tried at the earliest. */
  get probeAtMs(): number {
    return this.#heldFromMs + this.#gapMs;
  }

  /** A call that started with `inFlight` in flight succeeded. */
  succeeded(nowMs: number, start: { sequence: number; inFlight: number }, last: number): LevelMove | null {
    this.#callsSinceHeld += 1;
    if (nowMs - this.#calmFromMs >= CALM_AFTER_MS) this.#calm = this.value;
    if (start.inFlight < this.value || start.sequence <= this.#changedSequence) return null;
    if (this.value >= this.ceiling) {
      this.ceiling = Infinity;
      this.#step = 1;
      this.#gapMs = PROBE_GAP_MS_MIN;
    }
    if (!this.isAtCeiling) {
      const room = Math.min(this.ceiling - 1, this.value + this.#step);
      if (!this.#raise(nowMs, room, last)) return null;
      this.#step = Math.max(1, Math.min(this.#step * 2, Math.floor(this.value * STEP_SHARE)));
      return 'grown';
    }
    if (!this.#mayProbe(nowMs)) return null;
    return this.#raise(nowMs, this.value + 1, last) ? 'probed' : null;
  }

  /** A call of the flight whose refusal was already counted was refused too. */
  refusedAgain(inFlight: number): void {
    this.ceiling = Math.min(this.ceiling, Math.max(2, inFlight));
    const floor = Math.floor(this.#eventLevel / 2);
    this.#set(Math.max(floor, Math.min(this.value, inFlight - 1)));
  }

  /** The first refusal of a flight; `streak` counts such events without a success between. */
  refused(nowMs: number, inFlight: number, event: { streak: number; last: number }): LevelMove {
    const wasProbe = this.value >= this.ceiling;
    const isBeyond = inFlight > this.#provenAt;
    this.#eventLevel = inFlight;
    this.#changedSequence = event.last;
    this.ceiling = Math.max(2, inFlight);
    this.#step = 1;
    this.#calmFromMs = nowMs;
    this.#heldFromMs = nowMs;
    const move = this.#cut(inFlight, { streak: event.streak, wasProbe, isBeyond });
    this.#callsSinceHeld = 0;
    this.#provenAt = Math.min(this.#provenAt, this.value);
    return move;
  }

  #cut(inFlight: number, how: { streak: number; wasProbe: boolean; isBeyond: boolean }): LevelMove {
    if (how.streak > 1) {
      this.#gapMs = PROBE_GAP_MS_MIN;
      this.#set(Math.min(this.value, Math.floor(inFlight / 2)));
      return 'again';
    }
    if (how.isBeyond) {
      this.#set(Math.max(this.#provenAt, inFlight - 1));
      if (!how.wasProbe) return 'refused';
      this.#gapMs = Math.min(PROBE_GAP_MS_MAX, this.#gapMs * PROBE_GAP_GROWTH);
      return 'probeRefused';
    }
    this.#gapMs = PROBE_GAP_MS_MIN;
    this.#set(Math.min(inFlight - 1, Math.floor(inFlight * SHARED_CUT)));
    return 'shared';
  }

  /** The slots were not at fault: back to the last level that was calm. */
  restoreCalm(last: number): void {
    this.ceiling = Infinity;
    this.#changedSequence = last;
    this.#set(Math.max(this.value, this.#calm));
    this.#provenAt = this.value;
  }

  /** Calls became slow at this level: a lower one, and no growth for a while. */
  lower(nowMs: number, to: number, last: number): void {
    this.#changedSequence = last;
    this.#step = 1;
    this.#heldFromMs = nowMs;
    this.#set(Math.min(this.value, to));
    this.#provenAt = Math.min(this.#provenAt, this.value);
  }

  restore(to: number, last: number): void {
    this.#changedSequence = last;
    this.#set(Math.max(this.value, to));
  }

  #mayProbe(nowMs: number): boolean {
    if (nowMs < this.probeAtMs) return false;
    return this.#callsSinceHeld >= CALLS_PER_PROBE ||
      nowMs >= this.#heldFromMs + SLOW_PROBE_GAP_MS_MAX;
  }

  #raise(nowMs: number, to: number, last: number): boolean {
    const before = this.value;
    this.#set(to);
    if (this.value === before) return false;
    this.#provenAt = before;
    this.#changedSequence = last;
    this.#heldFromMs = nowMs;
    this.#callsSinceHeld = 0;
    return true;
  }

  #set(value: number): void {
    this.value = clamp(value, this.bounds);
  }
}

function clamp(value: number, { min, max }: LevelBounds): number {
  return Math.min(max, Math.max(min, value));
}
