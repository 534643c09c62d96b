/**
 * The request rate that an upstream was seen to take, in starts a second. What was accepted between
 * two instants at which the upstream had just nothing left equals what it refilled meanwhile,
 * whatever its limiter's shape; that is the whole measure. Growth is slower than the limiter's
 * memory, and comes back, at worst, to what carried before.
 */
import { Pacer } from './pacer.ts';
import { Refill } from './refill.ts';

const BURST = 2;
/** Below the measured rate by this much: arrivals are never as even as starts. */
const MARGIN = 0.98;
/** No evidence is so bad that less than one start a minute should follow. */
const PER_SECOND_MIN = 1 / 60;
const ACCEPTED_MIN = 5;
const ELAPSED_MS_MIN = 2000;
const WINDOW_MS = 60_000;
/** What a drought leaves of the rate at least; and one that the rate's own growth brought about. */
const LEFT_SHARE_MIN = 0.5;
const LEFT_SHARE_GROWN_MIN = 0.9;
const GROWTH_FIRST = 0.02;
const GROWTH_MAX = 1;
/** A rate has not carried before so many starts went at it. */
const STARTS_PER_GROWTH = 8;
/** A start so soon after the pace allowed it had waited for it. */
const BOUND_MS = 20;
const BINDING_SHARE = 0.5;
const GAP_MS_MIN = 5000;
const GAP_MS_MAX = 300_000;
const UNBOUND_FORGET_MS = 600_000;
const DEBT_MS_MAX = 10_000;
const BUCKET_MS = 5000;
const BUCKETS = 13;

export class LearnedRate {
  perSecond: number | null = null;
  /** The upstream's memory, as far as its droughts showed. */
  cycleMs = 0;
  #pacer = new Pacer(1, BURST);
  /** Accepted starts since the checkpoint, and in the last minute by 5 s. */
  #accepted = 0;
  #checkpointMs = -Infinity;
  /** Of the time since the checkpoint, what the upstream took nothing in. */
  #dryMs = 0;
  #recent = new Array<number>(BUCKETS).fill(0);
  #recentIndex = 0;
  #acceptedTotal = 0;
  /** What was accepted in the minute before the drought. */
  #minuteBefore = 0;
  #droughtFromMs = Infinity;
  #before: number | null = null;
  #isGrownTooFar = false;
  readonly #refill = new Refill();
  #growth = GROWTH_FIRST;
  #gapMs = GAP_MS_MIN;
  #changedAtMs = -Infinity;
  #boundShare = 0;
  #boundAtMs = -Infinity;

  get isActive(): boolean {
    return this.perSecond !== null;
  }

  /** The rate was raised, and has not carried for long enough yet. */
  get isTrial(): boolean {
    return this.#before !== null && this.isBinding;
  }

  /** It is this rate that starts wait for, most of the time. */
  get isBinding(): boolean {
    return this.#boundShare >= BINDING_SHARE;
  }

  get changedAtMs(): number {
    return this.#changedAtMs;
  }

  /** Starts that were not refused, ever. */
  get acceptedTotal(): number {
    return this.#acceptedTotal;
  }

  /** What is accepted lately, in starts a second. */
  recentPerSecond(nowMs: number): number {
    this.#turn(nowMs);
    const at = (back: number) => this.#recent[(this.#recentIndex - back) % BUCKETS] ?? 0;
    const partMs = nowMs - this.#recentIndex * BUCKET_MS;
    const spanMs = Math.min(BUCKET_MS + partMs, Math.max(1000, nowMs - this.#checkpointMs));
    return ((at(0) + at(1)) * 1000) / spanMs;
  }

  /** Nothing was heard for long: neither a success to grow by nor a refusal. */
  isStale(nowMs: number): boolean {
    return nowMs - this.#changedAtMs > UNBOUND_FORGET_MS;
  }

  get growsAtMs(): number {
    const startsMs = STARTS_PER_GROWTH * this.#pacer.periodMs;
    return this.#changedAtMs + Math.max(this.#gapMs, 1.1 * this.cycleMs, startsMs);
  }

  /** Starts that the pace allows at once; null without one. */
  startsFree(nowMs: number): number | null {
    if (this.perSecond === null) return null;
    const openMs = nowMs - this.#pacer.openSinceMs();
    return Math.min(BURST, Math.max(0, Math.floor(openMs / this.#pacer.periodMs) + 1));
  }

  opensAtMs(nowMs: number, ahead: number): number {
    if (this.perSecond === null) return nowMs;
    return Math.ceil(this.#pacer.opensAtMs(nowMs, ahead));
  }

  /** A start; `isHeld`: it waited for a scout or a pause, whatever the pace said. */
  started(nowMs: number, isHeld: boolean): void {
    if (this.#checkpointMs === -Infinity) this.#checkpointMs = nowMs;
    this.#accepted += 1;
    this.#acceptedTotal += 1;
    this.#turn(nowMs);
    const bucket = this.#recentIndex % BUCKETS;
    this.#recent[bucket] = this.#recent[bucket]! + 1;
    if (this.perSecond === null) return;
    if (!isHeld) this.#noteBound(nowMs);
    this.#pacer.take(nowMs);
    // What was held back by other means has stored no burst.
    if (isHeld) this.#pacer.drain(nowMs, 1);
  }

  #noteBound(nowMs: number): void {
    const slackMs = nowMs - this.#pacer.openSinceMs();
    const isBound = slackMs <= Math.max(BOUND_MS, this.#pacer.periodMs / 20);
    this.#boundShare += 0.1 * ((isBound ? 1 : 0) - this.#boundShare);
    if (isBound) this.#boundAtMs = nowMs;
  }

  /** A start did not count after all: it was refused, or never sent. */
  uncount(startedAtMs: number): void {
    if (this.#accepted > 0) this.#accepted -= 1;
    this.#acceptedTotal -= 1;
    const index = Math.floor(startedAtMs / BUCKET_MS);
    if (index <= this.#recentIndex - BUCKETS) return;
    const bucket = index % BUCKETS;
    if (this.#recent[bucket]! > 0) this.#recent[bucket] = this.#recent[bucket]! - 1;
  }

  /** The upstream has nothing left: what may be accepted next tells what it refills. */
  ranDry(nowMs: number): void {
    if (this.#droughtFromMs !== Infinity) return;
    this.#droughtFromMs = nowMs;
    this.#turn(nowMs);
    this.#minuteBefore = this.#recent.reduce((sum, count) => sum + count, 0);
  }

  get isDry(): boolean {
    return this.#droughtFromMs !== Infinity;
  }

  /** Where a window of a minute that began with the first start would end. */
  get windowEndMs(): number {
    const droughtMs = this.#droughtFromMs;
    if (this.#checkpointMs === -Infinity || droughtMs === Infinity) return -Infinity;
    return Math.max(this.#checkpointMs, droughtMs - WINDOW_MS) + WINDOW_MS + 150;
  }

  /** A paced start was refused: back to what carried before. */
  cut(nowMs: number): boolean {
    if (this.perSecond === null) return false;
    this.#isGrownTooFar = this.#before !== null;
    this.#set(this.#before ?? this.perSecond * MARGIN);
    this.#before = null;
    if (this.#isGrownTooFar) this.#gapMs = Math.min(this.#gapMs * 2, GAP_MS_MAX);
    this.#growth = GROWTH_FIRST;
    this.#changedAtMs = nowMs;
    return true;
  }

  /**
   * The first start that was accepted after a drought, which `refusals` scouting calls had to
   * find: measures, and starts the next cycle.
   */
  reopened(startedAtMs: number, refusals: number): void {
    if (this.#droughtFromMs === Infinity) return;
    const droughtMs = startedAtMs - this.#droughtFromMs;
    this.#droughtFromMs = Infinity;
    this.cycleMs = Math.max(Math.min(this.cycleMs, WINDOW_MS) * 0.9, droughtMs);
    this.#dryMs += droughtMs;
    const measured = this.#measure(startedAtMs, droughtMs);
    if (measured === null) return;
    const openMs = Math.max(1, startedAtMs - this.#checkpointMs - this.#dryMs);
    const cycle = { perSecond: measured, openPerSecond: (this.#accepted - 1) * 1000 / openMs };
    this.#beginCycle(startedAtMs);
    const wanted = measured * MARGIN;
    // Where something else held back, what was accepted says nothing of the rate.
    if (this.perSecond !== null && (wanted >= this.perSecond || !this.isBinding)) return;
    if (this.perSecond === null) this.#set(wanted);
    else {
      const meaning = this.#refill.judge(cycle);
      if (meaning === 'nothing') return;
      // While the rate grew the upstream would have taken more than it was asked for.
      const leftShare = this.#isGrownTooFar ? LEFT_SHARE_GROWN_MIN : LEFT_SHARE_MIN;
      const lower = Math.max(wanted, this.perSecond * leftShare);
      this.#set(meaning === 'none' ? this.#refill.openPerSecond : lower);
    }
    this.#changedAtMs = startedAtMs;
    this.#before = null;
    this.#pacer.drain(startedAtMs, Math.min(refusals, DEBT_MS_MAX / this.#pacer.periodMs));
  }

  /** Calls are taken again, and nothing is to be learned: after a quota, its length is no pace. */
  restart(startedAtMs: number): void {
    this.#droughtFromMs = Infinity;
    this.#beginCycle(startedAtMs);
  }

  #beginCycle(startedAtMs: number): void {
    this.#checkpointMs = startedAtMs;
    this.#dryMs = 0;
    this.#accepted = 1;
  }

  /** The rate that is known to carry: not one that is on trial. */
  get provenPerSecond(): number | null {
    return this.#before ?? this.perSecond;
  }

  /** Starts from what an earlier run learned. */
  seed(nowMs: number, perSecond: number, cycleMs: number): void {
    this.#set(perSecond);
    this.cycleMs = cycleMs;
    this.#changedAtMs = nowMs;
    this.#pacer.drain(nowMs, 0);
  }

  /** Learned by other means than a drought. */
  learn(nowMs: number, perSecond: number): void {
    this.#set(perSecond * MARGIN);
    this.#changedAtMs = nowMs;
    this.#before = null;
    this.#growth = GROWTH_FIRST;
    this.#pacer.drain(nowMs, 0);
  }

  #measure(nowMs: number, droughtMs: number): number | null {
    const elapsedMs = nowMs - this.#checkpointMs;
    const accepted = this.#accepted - 1;
    if (accepted < ACCEPTED_MIN || elapsedMs < ELAPSED_MS_MIN) return null;
    if (elapsedMs < WINDOW_MS || droughtMs > 2 * WINDOW_MS) return (accepted * 1000) / elapsedMs;
    return (Math.min(accepted, this.#minuteBefore) * 1000) / WINDOW_MS;
  }

  /** Tries more where the rate was what held back, and the last change has proven itself. */
  grow(nowMs: number, ceiling: number): string | null {
    if (this.perSecond === null || this.#droughtFromMs !== Infinity) return null;
    if (nowMs - Math.max(this.#boundAtMs, this.#changedAtMs) > UNBOUND_FORGET_MS) {
      this.perSecond = null;
      return 'the rate did not hold back for long';
    }
    if (nowMs < this.growsAtMs || !this.isBinding) return null;
    if (this.#before !== null) {
      this.#growth = Math.min(this.#growth * 2, GROWTH_MAX);
      this.#gapMs = Math.max(GAP_MS_MIN, this.#gapMs / 2);
    }
    if (this.perSecond >= ceiling) return null;
    const before = this.perSecond;
    this.#set(Math.min(ceiling, before * (1 + this.#growth)));
    this.#before = before;
    this.#changedAtMs = nowMs;
    return 'the rate carried; a little more';
  }

  #set(perSecond: number): void {
    if (this.perSecond === null) this.#boundShare = 1;
    this.perSecond = Math.max(PER_SECOND_MIN, perSecond);
    this.#pacer.periodMs = 1000 / this.perSecond;
  }

  #turn(nowMs: number): void {
    const index = Math.floor(nowMs / BUCKET_MS);
    if (index - this.#recentIndex >= BUCKETS) this.#recent.fill(0);
    else {
      for (let passed = this.#recentIndex + 1; passed <= index; passed += 1) {
        this.#recent[passed % BUCKETS] = 0;
      }
    }
    this.#recentIndex = Math.max(index, this.#recentIndex);
  }
}
