/**
 * The callers that got a slot, with all their bad habits: they vanish, release late or twice, renew
 * too late or for ever. Each of their calls is checked against the ledger: an answer is right or
 * wrong to the ms, however the clocks and the store behave.
 */
import type { Outcome } from '../../src/core/outcome.ts';
import type { LeaseRecord, Ledger } from './ledger.ts';
import type { Life } from './life.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';
import { claim } from './violation.ts';

const HABITS = [
  { name: 'honest', weight: 50 },
  { name: 'vanishes', weight: 10 },
  { name: 'releases late', weight: 10 },
  { name: 'releases twice', weight: 10 },
  { name: 'clings', weight: 8 },
  { name: 'renews late', weight: 6 },
  { name: 'is quick', weight: 6 },
] as const;
const RETRY_MS = 100;
const RETRIES_MAX = 30;
/** How work ends that its holder reports. */
const OUTCOMES: readonly (Outcome & { weight: number })[] = [
  { kind: 'ok', status: 200, weight: 75 },
  { kind: 'throttled', status: 429, weight: 15 },
  { kind: 'failed', status: 500, weight: 5 },
  { kind: 'unknown', weight: 5 },
];

export interface HoldersOptions {
  readonly machine: Machine;
  readonly random: Random;
  readonly tally: Tally;
  readonly ledger: Ledger;
  /** The server's process, where one runs. */
  readonly life: () => Life | null;
}

export class Holders {
  readonly #options: HoldersOptions;

  constructor(options: HoldersOptions) {
    this.#options = options;
  }

  /** A caller read the answer that gives it a slot. */
  told(record: LeaseRecord): void {
    const { machine, random, tally } = this.#options;
    if (record.endedBy === null) record.believedUntilMs = record.endMs;
    if (record.door === 'proxy') {
      tally.note('proxied requests');
      return machine.after(random.whole(1, 3000), () => this.#giveBack(record));
    }
    const { name } = random.weighted(HABITS);
    tally.note(`holder ${name}`);
    const tillEndMs = Math.max(0, record.endMs - machine.nowMs);
    switch (name) {
      case 'honest':
        return this.#work(record, machine.nowMs + random.whole(10, 2500));
      case 'vanishes':
        return;
      case 'releases late':
        return machine.after(tillEndMs + random.whole(0, 400), () => this.#giveBack(record));
      case 'releases twice':
        machine.after(random.whole(0, 300), () => this.#giveBack(record));
        return machine.after(random.whole(0, 900), () => this.#giveBack(record));
      case 'clings':
        return this.#work(record, Infinity);
      case 'renews late':
        return machine.after(tillEndMs + random.whole(0, 400), () => void this.#renew(record));
      case 'is quick':
        return machine.after(random.whole(0, 5), () => this.#giveBack(record));
    }
  }

  /** A release by an id that this pool never gave, or by another pool's. */
  releaseForeign(pool: string, slotId: string): void {
    const life = this.#options.life();
    const entry = life?.directory.get(pool);
    if (life === null || entry === undefined) return;
    this.#options.tally.note('releases of a slot of another pool');
    const isReleased = life.scheduler.release(entry.pool, slotId, { kind: 'ok' });
    claim(!isReleased, 'a slot is released in its own pool alone');
  }

  #work(record: LeaseRecord, untilMs: number): void {
    const { machine, random } = this.#options;
    const pauseMs = random.whole(1, Math.ceil(record.termMs / 3));
    if (machine.nowMs + pauseMs >= untilMs) {
      return machine.after(untilMs - machine.nowMs, () => this.#giveBack(record));
    }
    machine.after(pauseMs, () => {
      const answer = this.#renew(record);
      if (answer === 'renewed') return this.#work(record, untilMs);
      if (answer === 'unreachable' && record.believedUntilMs > machine.nowMs) {
        return machine.after(RETRY_MS, () => this.#work(record, untilMs));
      }
      if (answer === 'capped') {
        const restMs = Math.max(0, Math.min(record.endMs, untilMs) - machine.nowMs);
        machine.after(restMs, () => this.#giveBack(record));
      }
    });
  }

  /** Renews, and believes the answer once it arrived, unless it got lost. */
  #renew(record: LeaseRecord): 'renewed' | 'capped' | 'gone' | 'unreachable' {
    const { machine, random, tally } = this.#options;
    const life = this.#options.life();
    const entry = life?.directory.get(record.pool);
    if (life === null || entry === undefined) return 'unreachable';
    const { nowMs } = machine;
    const isLive = record.endedBy === null && record.endMs > nowMs;
    const wanted = !isLive ? 'gone' : record.endMs >= record.requestEndMs ? 'capped' : 'renewed';
    const { kind } = life.scheduler.renew(entry.pool, record.slotId);
    tally.note(`renew: ${kind}`);
    claim(kind === wanted, 'a renew is answered right', { kind, wanted, record, nowMs });
    if (kind === 'renewed') {
      record.endMs = Math.max(
        record.endMs,
        Math.min(nowMs + record.termMs, record.requestEndMs),
      );
      this.#believe(record, random.chance(0.1) ? Infinity : random.whole(0, 20));
    }
    if (kind === 'gone') record.believedUntilMs = -Infinity;
    return kind;
  }

  #believe(record: LeaseRecord, delayMs: number): void {
    const { machine } = this.#options;
    if (delayMs === Infinity) return;
    const untilMs = record.endMs;
    machine.after(delayMs, () => {
      const isHeld = record.endedBy === null && record.believedUntilMs > -Infinity;
      // A restart after a jump of the wall clock may have shortened it meanwhile.
      const toldMs = Math.min(untilMs, record.endMs);
      if (isHeld) record.believedUntilMs = Math.max(record.believedUntilMs, toldMs);
    });
  }

  /** Releases; whoever has asked for it holds nothing any more, whatever the answer. */
  #giveBack(record: LeaseRecord, tries = 0): void {
    const { ledger, life, machine, random, tally } = this.#options;
    record.believedUntilMs = -Infinity;
    const entry = life()?.directory.get(record.pool);
    const scheduler = life()?.scheduler;
    if (scheduler === undefined || entry === undefined) {
      if (tries === RETRIES_MAX || random.chance(0.2)) return tally.note('releases that got lost');
      return machine.after(RETRY_MS, () => this.#giveBack(record, tries + 1));
    }
    const isLive = record.endedBy === null && record.endMs > machine.nowMs;
    const { weight: _, ...outcome } = random.weighted(OUTCOMES);
    const isReleased = scheduler.release(entry.pool, record.slotId, outcome);
    tally.note(isReleased ? 'releases' : 'releases of what was gone');
    claim(isReleased === isLive, 'a release is answered right', { isReleased, record });
    if (isReleased) ledger.end(record, 'release');
  }
}
