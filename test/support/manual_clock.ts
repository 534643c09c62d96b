/**
 * A clock that stands still until the test lets time pass. Timers run in the order of their
 * instants, each with all that follows from it done before the next; nothing ever really waits.
 */
import { type Clock, SteadyShift, type Timer } from '../../src/scheduler/clock.ts';
import { T0 } from './pools.ts';

/** More passes of the microtask queue than any chain of promises in a test is long. */
const PASSES = 50;
const DRIFT_MS_MAX = 1000;

interface Armed {
  readonly atMs: number;
  readonly order: number;
  readonly call: () => void;
}

export class ManualClock implements Clock {
  shiftMs = 0;
  readonly #steady = new SteadyShift();
  #nowMs = T0;
  #wallAheadMs = 0;
  #order = 0;
  #armed: Armed[] = [];
  #soon: (() => void)[] = [];

  get steadyShiftMs(): number {
    return this.#steady.ms;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  preciseMs(): number {
    return this.#nowMs;
  }

  /** Timers that are set and have not run. */
  get armed(): number {
    return this.#armed.length;
  }

  /** Sets the wall clock forward, or back; it shows only once the clock follows it. */
  jumpWall(ms: number): void {
    this.#wallAheadMs += ms;
  }

  followWallClock(): void {
    const driftMs = this.#wallAheadMs - this.shiftMs;
    if (Math.abs(driftMs) > DRIFT_MS_MAX) this.shiftMs += driftMs;
    this.#steady.follow(this.#nowMs, this.shiftMs);
  }

  after(delayMs: number, call: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, call };
    this.#armed.push(timer);
    return { cancel: () => void (this.#armed = this.#armed.filter((other) => other !== timer)) };
  }

  soon(call: () => void): void {
    this.#soon.push(call);
  }

  /** Does all that needs no time: promises, and what was to be called soon. */
  async settle(): Promise<void> {
    for (;;) {
      for (let pass = 0; pass < PASSES; pass++) await undefined;
      const soon = this.#soon;
      if (soon.length === 0) return;
      this.#soon = [];
      for (const call of soon) call();
    }
  }

  /** Lets time pass, with all the timers on the way. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.settle();
    for (;;) {
      const next = this.#armed.toSorted((a, b) => a.atMs - b.atMs || a.order - b.order)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#armed = this.#armed.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.call();
      await this.settle();
    }
    this.#nowMs = untilMs;
  }

  /** Lets time pass during which no timer fires: the process was held up. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** The process that set the timers is gone. */
  dropTimers(): void {
    this.#armed = [];
    this.#soon = [];
  }
}

/** The same where all that follows also waits for the event loop: bodies and streams. */
export class LoopClock extends ManualClock {
  override soon(call: () => void): void {
    setImmediate(call);
  }

  override async settle(): Promise<void> {
    for (let turns = 0; turns < 5; turns++) await new Promise((done) => setImmediate(done));
  }
}
