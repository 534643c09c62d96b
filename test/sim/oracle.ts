/**
 * Judges the simulated server from outside: from what callers asked and were told, on a clock of
 * its own that never jumps. After each event it compares all pools with what the contract says, and
 * throws a Violation at the first promise that is broken.
 */
import type { Lease } from '../../src/core/lease.ts';
import type { Pool } from '../../src/core/pool.ts';
import type { Granted } from '../../src/scheduler/verdict.ts';
import { type Call, Calls } from './calls.ts';
import { checkBelief, checkDurable, checkFresh, checkLine, checkTurn } from './checks.ts';
import { checkWaits, Gates, LATE_MS_MAX } from './checks.ts';
import type { Disk } from './disk.ts';
import { type LeaseRecord, Ledger } from './ledger.ts';
import type { Life } from './life.ts';
import type { Machine } from './machine.ts';
import type { Tally } from './tally.ts';
import { claim } from './violation.ts';
import type { Weather } from './weather.ts';

/** How far the wire's clock may be from the wall clock. */
const DRIFT_MS_MAX = 1000;
/** Within this time after a jump and all trouble, stored rows mean the new wall clock. */
const RESTAMPED_MS = 1600;

interface Seen {
  readonly pool: Pool;
  readonly limit: number;
  readonly pausedUntilMs: number;
}

export class Oracle {
  readonly ledger = new Ledger();
  calls = new Calls(0);
  readonly #disk: Disk;
  readonly #machine: Machine;
  readonly #weather: Weather;
  readonly #tally: Tally;
  #pools = new Map<string, Seen>();
  /** Deletions that were asked for and may have reached the disk. */
  readonly removals = new Set<string>();
  #lives = 0;
  #gates = new Gates();
  #fenceOfLife = 0;
  /** The store fails, or did before the event. */
  #isFailing = false;
  #jumpedAtMs = -Infinity;
  #diedAtMs = 0;

  constructor(parts: { disk: Disk; machine: Machine; weather: Weather; tally: Tally }) {
    this.#disk = parts.disk;
    this.#machine = parts.machine;
    this.#weather = parts.weather;
    this.#tally = parts.tally;
  }

  get #nowMs(): number {
    return this.#machine.nowMs;
  }

  /** Since when neither the wall clock jumped nor the store was in trouble. */
  get #quietSinceMs(): number {
    return Math.max(this.#jumpedAtMs, this.#weather.troubleAtMs);
  }

  jumped(): void {
    this.#jumpedAtMs = this.#nowMs;
  }

  /** The process ended: whoever was not answered never will be. */
  died(): void {
    this.#diedAtMs = this.#nowMs;
    for (const record of this.ledger.live()) {
      if (!record.isAnswered || record.door === 'proxy') this.ledger.end(record, 'crash');
    }
  }

  /** A process starts: every lease that a caller was told of must go on. */
  began(life: Life): void {
    this.#lives++;
    this.calls = new Calls(this.#lives);
    this.#fenceOfLife = 0;
    this.#gates = new Gates();
    const owed = this.ledger.live().filter(({ endMs }) => endMs > this.#nowMs);
    for (const record of this.ledger.live()) this.ledger.end(record, 'lapse');
    let hasMoved = false;
    for (const row of this.#disk.leases.values()) {
      const untilMs = this.ledger.get(row.slotId)?.requestEndMs ?? -Infinity;
      const record = this.ledger.revive(row, {
        realMs: this.#nowMs,
        wallMs: this.#machine.wallMs,
      });
      claim(record !== undefined, 'a stored lease was granted once', row);
      if (this.#compareDeadline(record as LeaseRecord, untilMs)) hasMoved = true;
    }
    // The rows say so from their next flush on.
    if (hasMoved) this.jumped();
    for (const record of owed) {
      if (record.endedBy === null) continue;
      const isRemoved = this.removals.has(record.pool) && !this.#disk.pools.has(record.pool);
      claim(isRemoved, 'a lease that a caller was told of survives a restart', record);
      this.ledger.end(record, 'removal');
    }
    this.#pools = this.#see(life);
  }

  /** A wall clock that jumped just before, or while the server was down, excuses a deadline. */
  #compareDeadline(record: LeaseRecord, untilMs: number): boolean {
    const driftMs = Math.abs(record.requestEndMs - untilMs);
    if (driftMs > 0) {
      const hasFollowed = this.#diedAtMs - this.#quietSinceMs >= RESTAMPED_MS;
      const isExcused = this.#jumpedAtMs >= 0 && !hasFollowed;
      claim(
        isExcused || driftMs <= DRIFT_MS_MAX,
        'a restart keeps the request deadline',
        { driftMs, record },
      );
      this.#tally.note('deadlines moved by the wall clock over a restart');
    }
    record.believedUntilMs = Math.min(
      record.believedUntilMs,
      driftMs > 0 ? record.endMs : Infinity,
    );
    const isOver = record.believedUntilMs <= this.#nowMs;
    claim(
      isOver || record.endMs >= record.believedUntilMs,
      'a restart shortens no lease that its holder believes in',
      record,
    );
    return driftMs > 0;
  }

  /** After an event. `isQuiet`: nothing more is due at this instant. */
  look(life: Life, isQuiet: boolean): void {
    const now = this.#see(life);
    for (const [name, { pool }] of this.#pools) {
      if (now.get(name)?.pool !== pool) this.#removed(name, pool);
    }
    this.#meet(life, now);
    for (const seen of now.values()) this.#checkLeases(life, seen.pool, isQuiet);
    this.#checkLive(life);
    for (const { pool } of now.values()) {
      const waiting = this.calls.waiting(pool);
      checkLine(pool, waiting);
      const isOpen = this.#gates.isOpen(life, pool, this.#nowMs);
      const here = [...waiting, ...this.calls.joined(pool)];
      if (isQuiet) checkWaits(life, pool, { waiting: here, isOpen, nowMs: this.#nowMs });
    }
    checkBelief(this.ledger.believed(this.#nowMs));
    this.#pools = now;
  }

  #see({ directory }: Life): Map<string, Seen> {
    const seen = new Map<string, Seen>();
    for (const { spec, pool } of directory.list()) {
      const pausedUntilMs = pool.pause?.untilMs ?? -Infinity;
      // Where the limit moves by itself, only the governor knows it.
      const { mode, limit: configured } = spec.concurrency;
      const limit = mode === 'adaptive' ? pool.governor.limit : configured;
      seen.set(spec.name, { pool, limit, pausedUntilMs });
    }
    return seen;
  }

  #removed(name: string, pool: Pool): void {
    for (const record of this.ledger.live()) {
      if (record.pool === name) this.ledger.end(record, 'removal');
    }
    claim(pool.leases.size === 0, 'a deleted pool holds no lease');
    claim(pool.queue.length === 0, 'a deleted pool has no waiters');
  }

  /** New leases: in turn, through open gates, with a higher fence than any before. */
  #meet(life: Life, now: ReadonlyMap<string, Seen>): void {
    const fresh: { lease: Lease; seen: Seen }[] = [];
    for (const seen of now.values()) {
      for (const lease of seen.pool.leases.values()) {
        if (this.ledger.get(lease.slotId) === undefined) fresh.push({ lease, seen });
      }
    }
    fresh.sort((a, b) => a.lease.fence - b.lease.fence);
    const { isFailing } = life.scheduler.journal;
    this.#isFailing ||= isFailing;
    for (const { lease, seen } of fresh) this.#granted(lease, seen);
    this.#isFailing = isFailing;
    checkFresh(life, fresh.map(({ lease }) => lease));
  }

  #granted(lease: Lease, seen: Seen): void {
    const call = this.calls.of(lease.holder);
    claim(call !== undefined, 'a lease has a caller', lease);
    if (call === undefined) return;
    const before = this.#pools.get(lease.pool);
    const known = before?.pool === seen.pool ? before : seen;
    // The pool may have been paused, or its limit changed, right before or after the grant.
    const pausedUntilMs = Math.min(seen.pausedUntilMs, known.pausedUntilMs);
    claim(pausedUntilMs <= lease.grantedAtMs, 'nobody is admitted while the pool is paused');
    claim(lease.fence > this.#fenceOfLife, 'fences grow', lease);
    claim(lease.fence > this.ledger.fenceAnswered, 'fences grow over restarts', lease);
    this.#fenceOfLife = lease.fence;
    checkTurn(call, this.calls.waiting(call.pool), this.#isFailing);
    const requestEndMs = this.#nowMs + lease.requestDeadlineMs - lease.grantedAtMs;
    call.lease = {
      slotId: lease.slotId,
      pool: lease.pool,
      door: lease.door,
      slots: lease.slots,
      fence: lease.fence,
      attempt: lease.attempt,
      repeatKey: call.repeatKey,
      termMs: lease.termMs,
      grantedAtMs: this.#nowMs,
      limit: Math.max(seen.limit, known.limit),
      requestEndMs,
      endMs: lease.door === 'proxy' ? Infinity : Math.min(this.#nowMs + lease.termMs, requestEndMs),
      isAnswered: false,
      endedBy: null,
      believedUntilMs: -Infinity,
    };
    this.ledger.add(call.lease);
    this.#tally.note(call.sentAtMs === this.#nowMs ? 'grants at once' : 'grants after a wait');
  }

  #checkLeases({ startedAtMs }: Life, pool: Pool, isQuiet: boolean): void {
    let slots = 0;
    for (const lease of pool.leases.values()) {
      const record = this.ledger.get(lease.slotId);
      claim(record !== undefined, 'a live lease is known');
      if (record === undefined) continue;
      slots += record.slots;
      claim(record.endedBy === null, 'a lease that ended stays ended', record);
      // One that was over before this process began ends with its first timer.
      const untilMs = Math.max(record.endMs, startedAtMs) + LATE_MS_MAX;
      claim(!isQuiet || untilMs > this.#nowMs, 'a lease ends at its deadline', record);
      const call = this.calls.of(lease.holder);
      const isRefused = (call?.answer ?? 'granted') !== 'granted';
      claim(!isRefused, 'no slot is held for a call that was refused', record);
    }
    claim(pool.inUse === slots, 'what is in use is the sum over the live leases', {
      inUse: pool.inUse,
      slots,
    });
  }

  #checkLive({ scheduler }: Life): void {
    for (const record of this.ledger.live()) {
      if (scheduler.pools.get(record.pool)?.leases.has(record.slotId) === true) continue;
      if (record.endMs <= this.#nowMs) {
        this.ledger.end(record, 'lapse');
        this.#tally.note('leases reclaimed at their deadline');
        continue;
      }
      claim(!record.isAnswered, 'no lease ends before its deadline', record);
      this.ledger.end(record, 'refusal');
    }
  }

  /** The server is about to answer a grant: all of it must be on the disk. */
  answered(life: Life, call: Call, { lease }: Granted): LeaseRecord | null {
    // A proxied request is told in the very step of its grant.
    if (lease.door === 'proxy') this.#meet(life, this.#see(life));
    const record = call.lease;
    if (record === null) {
      // Nobody saw it live: its pool was deleted in the very step of the grant, or it is too early.
      const isRemoved = this.#pools.get(lease.pool)?.pool !== call.pool;
      claim(isRemoved, 'a grant is told after its flush', lease);
      return null;
    }
    claim(record.slotId === lease.slotId, 'a caller is told its own lease');
    return this.#told(life, record, lease);
  }

  /** The server is about to answer a repeat with the grant of another. */
  repeated(life: Life, call: Call, { lease }: Granted): LeaseRecord | null {
    const record = this.ledger.get(lease.slotId);
    const isIts = record?.pool === call.poolName && record.repeatKey === call.repeatKey;
    claim(isIts, 'a repeat is told of the lease of its key', { call: call.label, record });
    return this.#told(life, record as LeaseRecord, lease);
  }

  #told(life: Life, record: LeaseRecord, lease: Lease): LeaseRecord {
    const isOver = record.endedBy !== null || record.endMs <= this.#nowMs;
    claim(!isOver, 'nobody is told a grant that is over', record);
    record.isAnswered = true;
    claim(this.ledger.twins(record, this.#nowMs).length === 0, 'a key has one slot', record);
    if (record.door === 'lock') {
      this.ledger.fenceAnswered = Math.max(this.ledger.fenceAnswered, record.fence);
      checkDurable(this.#disk, record);
      this.#checkDeadline(record, lease.dueAtMs + life.scheduler.clock.shiftMs);
    }
    return record;
  }

  /** @param toldMs the deadline in epoch ms that the caller is told. */
  #checkDeadline(record: LeaseRecord, toldMs: number): void {
    const wantedMs = record.endMs - this.#nowMs + this.#machine.wallMs;
    const hasFollowed = this.#nowMs - this.#quietSinceMs >= RESTAMPED_MS;
    const isRight = Math.abs(toldMs - wantedMs) <= DRIFT_MS_MAX;
    claim(isRight || !hasFollowed, 'deadlines follow the wall clock', { toldMs, wantedMs });
  }
}
