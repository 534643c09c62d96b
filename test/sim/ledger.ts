/**
 * Every lease that the simulation has seen, as it must be by the contract: until when it lives on
 * the oracle's own time, whether a holder was told of it, and whether somebody may rightly believe
 * to hold it. Nothing here asks the server.
 */
import type { Door } from '../../src/core/lease.ts';
import type { LeaseRow } from '../../src/store/store.ts';

export type EndedBy = 'release' | 'lapse' | 'refusal' | 'removal' | 'take back' | 'crash';

export interface LeaseRecord {
  readonly slotId: string;
  readonly pool: string;
  /** `proxy`: in memory alone, without a deadline. */
  readonly door: Door;
  readonly slots: number;
  readonly fence: number;
  readonly attempt: string;
  /** The Idempotency-Key under which it was asked for. */
  readonly repeatKey: string | null;
  readonly termMs: number;
  readonly grantedAtMs: number;
  /** The limit in force at the grant. */
  readonly limit: number;
  /** The request deadline, and the deadline, in real ms. */
  requestEndMs: number;
  endMs: number;
  isAnswered: boolean;
  endedBy: EndedBy | null;
  /** Until when its holder may believe to hold it; -Infinity where nobody may. */
  believedUntilMs: number;
}

export class Ledger {
  readonly #records = new Map<string, LeaseRecord>();
  /** Those that have not ended, or that somebody may still believe in. */
  readonly #open = new Set<LeaseRecord>();
  /** The highest fence that was answered to anyone, in any life. */
  fenceAnswered = 0;

  get(slotId: string): LeaseRecord | undefined {
    return this.#records.get(slotId);
  }

  add(record: LeaseRecord): void {
    this.#records.set(record.slotId, record);
    this.#open.add(record);
  }

  /** Leases that live by the contract. */
  live(): LeaseRecord[] {
    return [...this.#open].filter(({ endedBy }) => endedBy === null);
  }

  /** Those of the same key that a caller was told of besides, and that live. */
  twins({ pool, repeatKey, slotId }: LeaseRecord, nowMs: number): LeaseRecord[] {
    if (repeatKey === null) return [];
    return this.live().filter((other) =>
      other.repeatKey === repeatKey && other.pool === pool && other.slotId !== slotId &&
      other.isAnswered && other.endMs > nowMs
    );
  }

  believed(nowMs: number): LeaseRecord[] {
    const believed: LeaseRecord[] = [];
    for (const record of this.#open) {
      if (record.believedUntilMs > nowMs) believed.push(record);
      else if (record.endedBy !== null) this.#open.delete(record);
    }
    return believed;
  }

  /** The lease is over; `release` and `take back` also end what its holder may believe. */
  end(record: LeaseRecord, endedBy: EndedBy): void {
    record.endedBy = endedBy;
    if (endedBy !== 'lapse') record.believedUntilMs = -Infinity;
  }

  /** A row that a starting server found: the lease lives on with a whole term, were it ended. */
  revive(row: LeaseRow, now: { realMs: number; wallMs: number }): LeaseRecord | undefined {
    const record = this.#records.get(row.slotId);
    if (record === undefined) return undefined;
    const restMs = row.requestDeadline - now.wallMs;
    const lifeMs = row.requestDeadline - row.grantedAt;
    record.requestEndMs = now.realMs + Math.min(restMs, lifeMs);
    record.endMs = Math.min(now.realMs + record.termMs, record.requestEndMs);
    record.endedBy = null;
    this.#open.add(record);
    return record;
  }
}
