/**
 * The search for how many calls the upstream carries at once. Each raise is a trial: it is proven
 * once enough calls that started after it, with the level full, succeeded, and a refusal before
 * that is the trial's. Regimes: growing below the ceiling (ever larger steps); holding below the
 * ceiling (what was refused last), with a trial of one more now and then; cut, at most once a
 * flight. It knows of refusals only what blame gave it, and of rates nothing.
 */
import { ProbeGap } from './probe_gap.ts';
import { Surprises } from './surprises.ts';
import { TrialMoment } from './trial_moment.ts';

/** With so few slots a rate that refuses two starts at once looks like a cap. */
export const FEW_SLOTS = 3;

/** Successes that prove a level at the ceiling: a share of the level, for arrivals overlap... */
const PROOF_SHARE = 1 / 2;
/** ...and more where refusals pause the pool, for some succeed by luck. */
const COSTLY_PROOF_SHARE = 2;
const SEED_SHARE = 0.75;
const SHARED_CUT = 0.85;
const CALM_AFTER_MS = 5000;
/** With no word from the upstream for so long, what it refused is forgotten. */
const STALE_MS = 600_000;
/** Growth adds at most this share of the level at once. */
const STEP_SHARE = 1 / 3;

export interface LevelBounds {
  readonly min: number;
  readonly max: number;
}

/** What a change of the level was about; the words are the status's to choose. */
export type LevelMove = 'grown' | 'probed' | 'trialRefused' | 'shared' | 'kept' | 'again';

export class Level {
  value: number;
  /** The lowest level that is held for refused; Infinity where none is known. */
  ceiling = Infinity;
  /** What an earlier run learned, until the level moves in this one. */
  seededFrom: number | null = null;
  /** Whether calls moved it, or refused it where it stands, in this run. */
  #isMeasured = false;
  bounds: LevelBounds;
  /** The last proven level; equal to the value where no trial runs. */
  #proven: number;
  /** What was proven before a trial that was refused: where to go if that was too little. */
  #fallback = 0;
  #proofs = 0;
  #step = 1;
  /** Starts up to this one say nothing about the level in force. */
  #changedSequence = 0;
  /** One flight cuts to half of the level at which it began, at most. */
  #floor = 0;
  readonly #gap = new ProbeGap();
  readonly #surprises = new Surprises();
  readonly #moment = new TrialMoment();
  #heldFromMs = -Infinity;
  #callsSinceHeld = 0;
  #callsSinceRefused = 0;
  #calm: number;
  #calmFromMs = -Infinity;

  constructor(bounds: LevelBounds, value: number) {
    this.bounds = bounds;
    this.value = clamp(value, bounds);
    this.#proven = this.value;
    this.#calm = this.value;
  }

  /** When the level last changed, or was last confirmed. */
  get heldFromMs(): number {
    return this.#heldFromMs;
  }

  configure(bounds: LevelBounds): void {
    this.bounds = bounds;
    this.#place(this.value);
    this.#calm = clamp(this.#calm, bounds);
  }

  /** Starts from what an earlier run learned: lower, and no higher than it was without a trial. */
  seed(level: number): void {
    this.#place(Math.floor(level * SEED_SHARE));
    this.ceiling = Math.max(this.value + 1, level + 1);
    this.seededFrom = level;
  }

  /**
   * What seeds a next run; null where no call told anything, in this run or before it. A run that
   * learned nothing hands on what it began from, so that restarts alone lower nothing.
   */
  get learned(): number | null {
    return this.#isMeasured ? this.value : this.seededFrom;
  }

  get isTrial(): boolean {
    return this.value > this.#proven;
  }

  /** So many in flight are more than were proven, and the trial of them still runs. */
  isTrialOf(inFlight: number): boolean {
    return this.isTrial && inFlight > this.#proven;
  }

  get isAtCeiling(): boolean {
    return this.value + 1 >= this.ceiling;
  }

  /** When one more may be tried at the earliest. */
  get probeAtMs(): number {
    return this.#heldFromMs + this.#gap.msAt(this.value);
  }

  /** When one more is tried if nothing starts before; Infinity where none is to be. */
  get trialAtMs(): number {
    return this.#moment.atMs;
  }

  /** Ms that starts are apart from each other with so many in flight. */
  get trialDistanceMs(): number {
    return this.#moment.distanceMs;
  }

  /** So many more calls have to succeed before one more may be tried. */
  probeCallsLeft(nowMs: number): number {
    return Math.max(0, this.#gap.callsAfter(nowMs - this.#heldFromMs) - this.#callsSinceHeld);
  }

  /**
   * A call that started with `inFlight` in flight succeeded. A trial is proven no sooner than a
   * refusal would be known, `refusalMs` after it began. Starts that are paced need no moment of
   * their own to try one more.
   */
  succeeded(
    nowMs: number,
    start: { sequence: number; inFlight: number; atMs: number },
    { last, refusalMs, isPaced }: { last: number; refusalMs: number; isPaced: boolean },
  ): LevelMove | null {
    this.#callsSinceHeld += 1;
    this.#callsSinceRefused += 1;
    if (nowMs - this.#calmFromMs >= CALM_AFTER_MS) this.#calm = this.#proven;
    if (start.inFlight < this.value || start.sequence <= this.#changedSequence) return null;
    if (this.isTrial && nowMs - this.#heldFromMs < refusalMs) return null;
    if (this.isTrial && !this.#prove()) return null;
    if (!this.isAtCeiling) {
      const to = Math.min(this.ceiling - 1, this.value + this.#step);
      if (to > FEW_SLOTS) return this.#grow(nowMs, to, last);
    } else if (nowMs < this.probeAtMs || this.probeCallsLeft(nowMs) > 0) return null;
    this.#moment.want(nowMs, isPaced ? 0 : (nowMs - start.atMs) / (this.value + 1));
    return this.tryOneMore(nowMs, last);
  }

  #grow(nowMs: number, to: number, last: number): LevelMove | null {
    if (!this.#raise(nowMs, to, last)) return null;
    this.#step = Math.max(1, Math.min(this.#step * 2, Math.floor(this.value * STEP_SHARE)));
    return 'grown';
  }

  /** Tries one more, where that is wanted and its moment has come. */
  tryOneMore(nowMs: number, last: number): LevelMove | null {
    if (nowMs < this.#moment.atMs) return null;
    const move = this.isAtCeiling ? 'probed' : 'grown';
    return this.#raise(nowMs, this.value + 1, last) ? move : null;
  }

  /** A call starts: where nothing was heard for long, the level may rise without proof. */
  started(nowMs: number, inFlight: number, last: number): LevelMove | null {
    this.#moment.started(nowMs);
    if (inFlight < this.value || nowMs - this.#heldFromMs < STALE_MS) return null;
    if (this.#heldFromMs === -Infinity) return null;
    this.#proven = this.value;
    this.ceiling = Infinity;
    return this.#raise(nowMs, this.value + 1, last) ? 'grown' : null;
  }

  /** One more success at the level on trial; true once that is enough. */
  #prove(): boolean {
    this.#proofs += 1;
    const isProbe = this.value >= this.ceiling;
    const share = this.#gap.isCostly ? COSTLY_PROOF_SHARE : PROOF_SHARE;
    if (isProbe && this.#proofs < Math.ceil(this.value * share)) return false;
    this.#proven = this.value;
    if (isProbe) {
      this.ceiling = this.#surprises.ceilingAbove(this.value);
      this.#step = 1;
      this.#gap.reset();
    }
    return true;
  }

  /** The first refusal of a flight; `streak` counts such events without a success between. */
  refused(
    nowMs: number,
    inFlight: number,
    event: { streak: number; last: number; pauseMs: number; random: () => number },
  ): LevelMove {
    const wasProbe = this.value >= this.ceiling;
    const level = Math.min(inFlight, this.value);
    this.#floor = Math.floor(level / 2);
    this.#changedSequence = event.last;
    this.#step = 1;
    // Before the first refusal no level was proven.
    const carriedMs = this.#calmFromMs === -Infinity ? 0 : nowMs - this.#calmFromMs;
    this.#calmFromMs = this.#heldFromMs = nowMs;
    const calls = this.#callsSinceRefused;
    this.#callsSinceHeld = this.#callsSinceRefused = 0;
    this.#gap.refused(event.pauseMs, event.random);
    if (event.streak > 1) {
      this.#settle(Math.min(level - 1, Math.max(this.#floor, this.#fallback)), level);
      this.#fallback = 0;
      this.#gap.reset();
      return 'again';
    }
    this.#fallback = this.isTrial ? this.#proven : 0;
    if (this.isTrial) {
      this.#settle(this.value - 1, this.value);
      if (wasProbe) this.#gap.widen();
      else this.#gap.reset();
      return 'trialRefused';
    }
    const { pauseMs } = event;
    const stand = this.#surprises.refused({ level, pauseMs, carriedMs, calls });
    if (stand !== null) {
      this.#gap.reset();
      this.restore(stand, event.last);
      this.ceiling = Infinity;
      return 'kept';
    }
    this.#gap.retry();
    const to = Math.min(level - 1, Math.floor(level * SHARED_CUT));
    this.#settle(to, to + 1);
    return 'shared';
  }

  /** A call of the flight whose refusal was already counted was refused too. */
  refusedAgain(): void {
    this.#settle(Math.max(this.#floor, this.value - 1), this.ceiling - 1);
  }

  /** The slots were not at fault: back to the last level that was calm. */
  restoreCalm(last: number): void {
    this.restore(this.#calm, last);
    this.ceiling = Infinity;
    this.#surprises.forget();
  }

  /** Calls became slow at this level: a lower one. */
  lower(nowMs: number, to: number, last: number): void {
    this.#changedSequence = last;
    this.#step = 1;
    this.#heldFromMs = nowMs;
    this.#set(Math.min(this.value, to));
  }

  restore(to: number, last: number): void {
    this.#changedSequence = last;
    this.#set(Math.max(this.value, to));
  }

  #raise(nowMs: number, to: number, last: number): boolean {
    this.#moment.drop();
    const before = this.value;
    this.value = clamp(to, this.bounds);
    if (this.value <= before) return false;
    this.#measured();
    this.#proofs = 0;
    this.#changedSequence = last;
    this.#heldFromMs = nowMs;
    this.#callsSinceHeld = 0;
    return true;
  }

  #settle(value: number, ceiling: number): void {
    this.#place(value);
    this.#measured();
    this.ceiling = Math.max(this.value + 1, ceiling);
  }

  /** Where calls moved it; that it stays where it was tells nothing. */
  #set(value: number): void {
    const before = this.value;
    this.#place(value);
    if (this.value !== before) this.#measured();
  }

  #place(value: number): void {
    this.#moment.drop();
    this.value = clamp(value, this.bounds);
    this.#proven = this.value;
  }

  #measured(): void {
    this.#isMeasured = true;
    this.seededFrom = null;
  }
}

function clamp(value: number, { min, max }: LevelBounds): number {
  return Math.min(max, Math.max(min, value));
}
