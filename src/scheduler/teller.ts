/**
 * Turns what the core answered into what a caller is told: each attempt gets its row in the access
 * log, and a grant is told only when its lease and its row are durable.
 */
import { epochMsOf } from './clock.ts';
import type { Gauge } from '../core/ask.ts';
import type { Lease } from '../core/lease.ts';
import type { AccessLog } from './access_log.ts';
import type { Clock } from './clock.ts';
import type { Journal } from './journal.ts';
import type { Refused, Verdict } from './verdict.ts';
import { entryOf } from './verdict.ts';
import type { Attempt } from './waiters.ts';

/** A lease that the core has granted and nobody was told of yet. */
export interface Grant {
  readonly lease: Lease;
  readonly gauge: Gauge;
  readonly queuedMs: number;
  readonly hasWaited: boolean;
}

export class Teller {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #log: AccessLog;

  constructor(clock: Clock, journal: Journal, log: AccessLog) {
    this.#clock = clock;
    this.#journal = journal;
    this.#log = log;
  }

  /** Resolves when the grant is durable, or could not be made so. */
  async grant(attempt: Attempt, grant: Grant): Promise<Verdict> {
    const { lease, gauge, queuedMs } = grant;
    const granted: Verdict = { kind: 'granted', ...grant };
    if (lease.door === 'proxy') return granted;
    const at = lease.grantedAtMs + this.#clock.shiftMs;
    this.#log.grant(entryOf(granted, attempt, { pool: lease.pool, at }));
    if (await this.#journal.covers(lease)) return granted;
    this.#log.tally.takeBack(lease.pool);
    const refused = { kind: 'refused', attempt: lease.attempt, gauge, queuedMs } as const;
    return this.refuse(lease.pool, attempt, { ...refused, code: 'storage_unavailable' });
  }

  refuse(pool: string, attempt: Attempt, refused: Refused): Refused {
    this.#log.refuse(entryOf(refused, attempt, { pool, at: this.#epochMs() }));
    return refused;
  }

  /** A refusal that nobody is left to hear. */
  callerGone(pool: string, attempt: Attempt, refused: Refused): Refused {
    const entry = entryOf(refused, attempt, { pool, at: this.#epochMs() });
    this.#log.refuse({ ...entry, outcome: 'client_gone', status: null });
    return refused;
  }

  #epochMs(): number {
    return epochMsOf(this.#clock);
  }
}
