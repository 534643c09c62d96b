/**
 * The machine on which a simulated server runs: its time, its wall clock and its timers. While it
 * runs, the global clocks and timers are its own, so that the production clock is simulated too.
 * Time passes only here and only between two events; what is due at one instant comes in random
 * order.
 */
import type { Random } from './random.ts';

/** 2026-01-01T00:00:00Z, where every simulation starts. */
const EPOCH_MS = Date.UTC(2026, 0, 1);
/** More passes of the microtask queue than any chain of promises in the server is long. */
const PASSES = 40;
/** How late a timer of the process may fire: its event loop was busy. It may be 1 ms early, too. */
const LATE_MS_MAX = 30;

interface Event {
  readonly atMs: number;
  readonly rank: number;
  /** Whether it belongs to the server's process and dies with it. */
  readonly isOfProcess: boolean;
  readonly call: () => void;
}

export class Machine {
  readonly #random: Random;
  #nowMs = 0;
  #wallAheadMs = EPOCH_MS;
  #events: Event[] = [];
  eventCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Ms since the simulation began: real time, which never jumps. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get wallMs(): number {
    return this.#nowMs + this.#wallAheadMs;
  }

  /** Sets the wall clock forward, or back where negative. */
  jump(ms: number): void {
    this.#wallAheadMs += ms;
  }

  /** An event of the world outside the server's process. */
  after(delayMs: number, call: () => void): void {
    this.#add(delayMs, call, false);
  }

  /** The process is gone, and all its timers with it. */
  dropProcess(): void {
    this.#events = this.#events.filter((event) => !event.isOfProcess);
  }

  /** Makes the global clocks and timers this machine's; returns what puts the old ones back. */
  install(): () => void {
    const kept = {
      setTimeout: globalThis.setTimeout,
      clearTimeout: globalThis.clearTimeout,
      setImmediate: globalThis.setImmediate,
    };
    const wallNow = Date.now;
    const preciseNow = performance.now;
    Date.now = () => this.wallMs;
    performance.now = () => this.#nowMs;
    Object.assign(globalThis, {
      setTimeout: (call: () => void, delayMs: number) =>
        // As runtimes do: whole ms, and at least one.
        this.#add(Math.max(1, Math.trunc(delayMs) + this.#lateMs()), call, true),
      clearTimeout: (event: Event) => this.#remove(event),
      setImmediate: (call: () => void) => this.#add(0, call, true),
    });
    return () => {
      Object.assign(globalThis, kept);
      Date.now = wallNow;
      performance.now = preciseNow;
    };
  }

  /**
   * Lets `spanMs` pass. `look` is called after every event once all that follows from it without
   * time passing is done; `isQuiet` says whether nothing more is due at that instant.
   */
  async pass(spanMs: number, look: (isQuiet: boolean) => void): Promise<void> {
    const untilMs = this.#nowMs + spanMs;
    await this.#drain();
    look(this.#isQuiet());
    for (;;) {
      const event = this.#events[0];
      if (event === undefined || event.atMs > untilMs) break;
      this.#events.shift();
      this.#nowMs = event.atMs;
      this.eventCount++;
      event.call();
      await this.#drain();
      look(this.#isQuiet());
    }
    this.#nowMs = untilMs;
  }

  async #drain(): Promise<void> {
    for (let pass = 0; pass < PASSES; pass++) await undefined;
  }

  #isQuiet(): boolean {
    return (this.#events[0]?.atMs ?? Infinity) > this.#nowMs;
  }

  #lateMs(): number {
    if (this.#random.chance(0.7)) return 0;
    return this.#random.chance(0.2) ? -1 : this.#random.whole(1, LATE_MS_MAX);
  }

  #add(delayMs: number, call: () => void, isOfProcess: boolean): Event {
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const event = { atMs, rank: this.#random.next(), isOfProcess, call };
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle] as Event;
      const isAfter = other.atMs < atMs || (other.atMs === atMs && other.rank < event.rank);
      if (isAfter) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
    return event;
  }

  #remove(event: Event): void {
    const place = this.#events.indexOf(event);
    if (place >= 0) this.#events.splice(place, 1);
  }
}
