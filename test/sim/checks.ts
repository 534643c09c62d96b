/**
 * The promises that can be judged at one instant, without knowing what was before: who stands in
 * line and why, and what holders believe to hold.
 */
import type { Lease } from '../../src/core/lease.ts';
import type { Pool } from '../../src/core/pool.ts';
import type { Waiter } from '../../src/core/queue.ts';
import type { Call } from './calls.ts';
import type { Disk } from './disk.ts';
import type { LeaseRecord } from './ledger.ts';
import type { Life } from './life.ts';
import { claim } from './violation.ts';

/** How late the server's timers may make it, in all. */
export const LATE_MS_MAX = 70;

/** Whoever waits stands in the queue, and nobody else does. */
export function checkLine(pool: Pool, waiting: readonly Call[]): void {
  claim(pool.queue.length === waiting.length, 'who waits stands in the queue', {
    queued: pool.queue.length,
    waiting: waiting.map(({ label }) => label),
  });
}

/** Each wait ends with its budget, and nobody waits beside a free slot. */
export function checkWaits(
  { scheduler }: Life,
  pool: Pool,
  line: { waiting: readonly Call[]; isOpen: boolean; nowMs: number },
): void {
  for (const call of line.waiting) {
    const untilMs = call.sentAtMs + call.budgetMs + (call.budgetMs > 0 ? LATE_MS_MAX : 0);
    claim(untilMs > line.nowMs, 'a wait ends with its budget', call.label);
  }
  const head = headOf(scheduler, pool);
  if (head === null || scheduler.isDraining) return;
  const isServable = line.isOpen && pool.fits(head.ask.slots);
  claim(!isServable, 'nobody waits while its slots are free', {
    pool: pool.name,
    ...pool.gauge(scheduler.clock.nowMs()),
  });
}

/** Nobody goes before who came earlier, but for whom a failing store holds up. */
export function checkTurn(call: Call, waiting: readonly Call[], isFailing: boolean): void {
  for (const other of waiting) {
    const isOvertaken = other.order < call.order && !(isFailing && other.door === 'lock');
    claim(!isOvertaken, 'nobody is overtaken', { other: other.label, call: call.label });
  }
}

/** The first who waits, of those whom a failing store does not hold up. */
function headOf({ journal }: Life['scheduler'], pool: Pool): Waiter | null {
  const line = [...pool.queue];
  return line.find(({ ask }) => !journal.isFailing || ask.door === 'proxy') ?? null;
}

/** Since when each pool's gates are open; what opens by time alone may be noticed late. */
export class Gates {
  readonly #openSinceMs = new Map<Pool, number>();

  /** Whether the pool's gates have been open for so long that the server must know it. */
  isOpen({ scheduler }: Life, pool: Pool, nowMs: number): boolean {
    const tokens = headOf(scheduler, pool)?.ask.tokens ?? 0;
    const opening = pool.opening(scheduler.clock.nowMs(), tokens, 0);
    if (opening.kind === 'shut') {
      this.#openSinceMs.set(pool, Infinity);
      return false;
    }
    let sinceMs = this.#openSinceMs.get(pool) ?? -Infinity;
    if (sinceMs === Infinity) sinceMs = nowMs;
    this.#openSinceMs.set(pool, nowMs >= sinceMs + LATE_MS_MAX ? -Infinity : sinceMs);
    return nowMs >= sinceMs + LATE_MS_MAX;
  }
}

/** Nobody is admitted by a drain, nor through the lock door by a store that fails. */
export function checkFresh({ scheduler }: Life, leases: readonly Lease[]): void {
  const isLocked = leases.some(({ door }) => door === 'lock');
  const { isFailing } = scheduler.journal;
  claim(!isLocked || !isFailing, 'nobody is admitted while the store fails');
  claim(leases.length === 0 || !scheduler.isDraining, 'nobody is admitted in a drain', leases);
}

/** What a caller is about to be told of is on the disk, all of it. */
export function checkDurable(disk: Disk, record: LeaseRecord): void {
  claim(disk.fence >= record.fence, 'a fence is durable before it is told', record);
  claim(disk.granted.has(record.attempt), 'a grant has its row in the log', record);
  claim(disk.leases.has(record.slotId), 'a grant is told after its flush', record);
}

/** What holders believe to hold never passes the limit that was in force at the newest grant. */
export function checkBelief(believed: readonly LeaseRecord[]): void {
  const byPool = new Map<string, LeaseRecord[]>();
  for (const record of believed) {
    const records = byPool.get(record.pool) ?? [];
    records.push(record);
    byPool.set(record.pool, records);
  }
  for (const records of byPool.values()) {
    // One lease alone may be wider than the limit.
    if (records.length === 1) continue;
    const newest = records.reduce((a, b) => a.fence > b.fence ? a : b);
    const slots = records.reduce((sum, record) => sum + record.slots, 0);
    claim(slots <= newest.limit, 'holders never hold more slots than the limit', records);
  }
}
