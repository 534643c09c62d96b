/**
 * The only place that reads the time. The core's clock is monotonic: it starts at the wall clock's
 * epoch ms and then only ever runs forward, so that a jump of the wall clock neither ends a live
 * lease nor keeps a dead one. The wire shows epoch ms: the core's instant plus a shift.
 */

/** How far the wall clock may drift from what the wire shows before the shift is taken anew. */
const DRIFT_MS_MAX = 1000;
/** A wall clock that was set forward is taken for right once it stood for so long. */
const STEADY_AFTER_MS = 600_000;
/** The longest delay that a timer keeps; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Whole ms on the core's clock. */
  nowMs(): number;
  /** What to add to an instant of the core's clock for epoch ms. */
  readonly shiftMs: number;
  /**
   * The same for deciding what is old enough to be forgotten: a wall clock that is ahead for a
   * while must not delete what it cannot bring back. Never above the shift.
   */
  readonly steadyShiftMs: number;
  /** Takes the shift anew where the wall clock moved by more than 1 s; called once a second. */
  followWallClock(): void;
  /** Ms with fractions, for measuring short spans. */
  preciseMs(): number;
  /** Calls once after `delayMs`, which may be longer than a plain timer can wait. */
  after(delayMs: number, call: () => void): Timer;
  /** Calls once this pass of the event loop is over. */
  soon(call: () => void): void;
}

/** A shift that goes back at once, and forward once it stood for {@link STEADY_AFTER_MS}. */
export class SteadyShift {
  ms = 0;
  #aheadMs = 0;
  #aheadSinceMs = 0;

  follow(nowMs: number, shiftMs: number): void {
    if (shiftMs <= this.ms) this.ms = shiftMs;
    if (shiftMs !== this.#aheadMs) {
      this.#aheadMs = shiftMs;
      this.#aheadSinceMs = nowMs;
    }
    if (nowMs - this.#aheadSinceMs >= STEADY_AFTER_MS) this.ms = shiftMs;
  }
}

export class SystemClock implements Clock {
  readonly #originMs: number;
  readonly #steady = new SteadyShift();
  shiftMs = 0;

  constructor() {
    this.#originMs = Date.now() - performance.now();
  }

  get steadyShiftMs(): number {
    return this.#steady.ms;
  }

  nowMs(): number {
    return Math.floor(this.#originMs + performance.now());
  }

  followWallClock(): void {
    const driftMs = Date.now() - (this.#originMs + performance.now() + this.shiftMs);
    if (Math.abs(driftMs) > DRIFT_MS_MAX) this.shiftMs += Math.round(driftMs);
    this.#steady.follow(this.nowMs(), this.shiftMs);
  }

  preciseMs(): number {
    return performance.now();
  }

  after(delayMs: number, call: () => void): Timer {
    let timer: ReturnType<typeof setTimeout>;
    const arm = (restMs: number) => {
      const waitMs = Math.min(restMs, TIMER_MS_MAX);
      timer = setTimeout(() => restMs > waitMs ? arm(restMs - waitMs) : call(), waitMs);
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimeout(timer) };
  }

  soon(call: () => void): void {
    setImmediate(call);
  }
}

/** Resolves after `delayMs` on the clock. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((done) => clock.after(delayMs, done));
}

/** Now on the wire: epoch ms. */
export function epochMsOf(clock: Pick<Clock, 'nowMs' | 'shiftMs'>): number {
  return clock.nowMs() + clock.shiftMs;
}

/** Epoch ms by which what is old enough is forgotten: see {@link Clock.steadyShiftMs}. */
export function steadyEpochMsOf(clock: Pick<Clock, 'nowMs' | 'steadyShiftMs'>): number {
  return clock.nowMs() + clock.steadyShiftMs;
}
