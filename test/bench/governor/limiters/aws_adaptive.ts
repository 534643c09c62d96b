/**
 * The AWS SDKs' adaptive retry mode: off until the first refusal, then a bucket whose rate falls to
 * 0.7 of what was sent and grows by a cubic in time.
 */
import type { Opening } from '../../../../src/core/governor/governor.ts';
import { clamp, Reference, type Sample } from './reference.ts';

const BETA = 0.7;
const SCALE = 0.4;
const SMOOTHING = 0.8;
const HALF_SECOND_MS = 500;
const PER_SECOND_MIN = 0.5;

export class AwsAdaptive extends Reference {
  #isOn = false;
  #perSecond = 0;
  #capacity = 0;
  #stored = 0;
  #filledAtMs = 0;
  #sentPerSecond = 0;
  #sent = 0;
  #sentFromMs: number | null = null;
  #rateMax = 0;
  #throttledAtMs = 0;
  #window = 0;

  constructor() {
    super(Infinity);
  }

  override opening(nowMs: number): Opening {
    if (!this.#isOn) return { kind: 'open' };
    this.#fill(nowMs);
    if (this.#stored >= 1) return { kind: 'open' };
    const waitMs = Math.ceil(((1 - this.#stored) * 1000) / this.#perSecond);
    return { kind: 'shut', reason: 'rate', atMs: nowMs + Math.max(1, waitMs) };
  }

  override started(nowMs: number): void {
    if (this.#isOn) this.#stored -= 1;
    this.#sent += 1;
    this.#sentFromMs ??= nowMs;
  }

  protected sample({ nowMs, isRefused }: Sample): void {
    this.#measure(nowMs);
    const next = isRefused ? this.#throttled(nowMs) : this.#grown(nowMs);
    const wanted = Math.min(next, 2 * this.#sentPerSecond);
    if (!this.#isOn) return;
    this.#fill(nowMs);
    this.#perSecond = Math.max(wanted, PER_SECOND_MIN);
    this.#capacity = Math.max(wanted, 1);
    this.#stored = Math.min(this.#stored, this.#capacity);
  }

  #throttled(nowMs: number): number {
    const rate = this.#isOn ? Math.min(this.#sentPerSecond, this.#perSecond) : this.#sentPerSecond;
    this.#rateMax = rate;
    this.#window = Math.cbrt((rate * (1 - BETA)) / SCALE);
    this.#throttledAtMs = nowMs;
    if (!this.#isOn) {
      this.#isOn = true;
      this.#filledAtMs = nowMs;
    }
    return rate * BETA;
  }

  #grown(nowMs: number): number {
    const seconds = (nowMs - this.#throttledAtMs) / 1000;
    return SCALE * (seconds - this.#window) ** 3 + this.#rateMax;
  }

  #measure(nowMs: number): void {
    if (this.#sentFromMs === null || nowMs - this.#sentFromMs < HALF_SECOND_MS) return;
    const current = (this.#sent * 1000) / (nowMs - this.#sentFromMs);
    this.#sentPerSecond = current * SMOOTHING + this.#sentPerSecond * (1 - SMOOTHING);
    this.#sent = 0;
    this.#sentFromMs = nowMs;
  }

  #fill(nowMs: number): void {
    const gained = ((nowMs - this.#filledAtMs) * this.#perSecond) / 1000;
    this.#stored = clamp(this.#stored + gained, -Infinity, this.#capacity);
    this.#filledAtMs = nowMs;
  }
}
