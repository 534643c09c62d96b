/**
 * Envoy's adaptive concurrency: the gradient of the least round trip, measured now and then at a
 * concurrency of three, to the median of the last tenth of a second, plus a head room of a square
 * root.
 */
import type { Random } from '../chance.ts';
import { clamp, Reference, type Sample } from './reference.ts';

const FLOOR = 3;
const MAX = 1000;
const UPDATE_MS = 100;
const BUFFER = 1.25;
const LEAST_EVERY_MS = 60_000;
const LEAST_JITTER = 0.15;
const LEAST_SAMPLES = 50;
const FLOOR_UPDATES_MAX = 5;

export class EnvoyGradient extends Reference {
  #samples: number[] = [];
  #leastMs: number | null = null;
  #leastAgainAtMs = 0;
  #isMeasuring = true;
  #before = FLOOR;
  #updateAtMs = 0;
  #floorUpdates = 0;

  constructor(readonly random: Random) {
    super(FLOOR);
  }

  protected sample({ nowMs, rttMs }: Sample): void {
    this.#samples.push(rttMs);
    if (this.#isMeasuring) {
      if (this.#samples.length >= LEAST_SAMPLES) this.#measured(nowMs);
      return;
    }
    if (nowMs >= this.#leastAgainAtMs || this.#floorUpdates >= FLOOR_UPDATES_MAX) {
      return this.#measure();
    }
    if (nowMs < this.#updateAtMs) return;
    const gradient = clamp((BUFFER * this.#leastMs!) / this.#takeMedian(), 0.5, 2);
    const next = gradient * this.level;
    this.level = clamp(Math.floor(next + Math.sqrt(next)), FLOOR, MAX);
    this.#floorUpdates = this.level === FLOOR ? this.#floorUpdates + 1 : 0;
    this.#updateAtMs = nowMs + UPDATE_MS;
  }

  #measure(): void {
    this.#isMeasuring = true;
    this.#floorUpdates = 0;
    this.#before = this.level;
    this.level = FLOOR;
    this.#samples = [];
  }

  #measured(nowMs: number): void {
    this.#leastMs = this.#takeMedian();
    this.#isMeasuring = false;
    this.level = Math.max(FLOOR, this.#before);
    this.#leastAgainAtMs = nowMs + LEAST_EVERY_MS * (1 + LEAST_JITTER * this.random());
    this.#updateAtMs = nowMs + UPDATE_MS;
  }

  #takeMedian(): number {
    const sorted = this.#samples.sort((left, right) => left - right);
    this.#samples = [];
    return sorted[sorted.length >> 1]!;
  }
}
