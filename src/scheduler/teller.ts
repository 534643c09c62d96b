/**
 * Turns what the core answered into what a caller is told: each attempt gets its row in the access
 * log, and a grant is told only when its lease and its row are durable, while it lives, and to
 * somebody.
 */
import { epochMsOf, pause } from './clock.ts';
import type { Lease } from '../core/lease.ts';
import { isHeld } from '../core/lease.ts';
import type { Pool } from '../core/pool.ts';
import type { ErrorCode } from '../errors.ts';
import type { AccessLog } from './access_log.ts';
import type { Clock } from './clock.ts';
import type { Journal } from './journal.ts';
import type { Granted, Refused, Verdict } from './verdict.ts';
import { entryOf } from './verdict.ts';
import type { Attempt } from './waiters.ts';

/** A lease that the core has granted and nobody was told of yet. */
export type Grant = Omit<Granted, 'kind'>;

export interface TellerParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly log: AccessLog;
  readonly pools: ReadonlyMap<string, Pool>;
  /** Ends a lease that nobody was told of. */
  readonly giveBack: (lease: Lease) => void;
}

/** How long the answer to one who waited is held back: one whole pass of the event loop. */
const HANG_UP_MS = 0;

export class Teller {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #log: AccessLog;
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #giveBack: (lease: Lease) => void;

  constructor({ clock, journal, log, pools, giveBack }: TellerParts) {
    this.#clock = clock;
    this.#journal = journal;
    this.#log = log;
    this.#pools = pools;
    this.#giveBack = giveBack;
  }

  /**
   * Resolves when the grant is durable and may be told, or is no grant after all. This is the last
   * look for its caller, as near to the answer as a grant can still be no grant to all who share
   * it: nothing takes one back for its caller's sake once this has resolved.
   */
  async grant(attempt: Attempt, grant: Grant): Promise<Verdict> {
    const { lease, queuedMs } = grant;
    const granted: Verdict = { kind: 'granted', ...grant };
    if (lease.door === 'proxy') return granted;
    const pool = this.#pools.get(lease.pool) as Pool;
    const at = lease.grantedAtMs + this.#clock.shiftMs;
    const row = entryOf(granted, attempt, { pool: lease.pool, at });
    this.#log.keep(row);
    // A refusal tells of the pool without the grant, which has been given back by then.
    const refused = (code: ErrorCode): Refused => {
      const gauge = pool.gauge(this.#clock.nowMs());
      return { kind: 'refused', attempt: lease.attempt, code, gauge, queuedMs };
    };
    if (!await this.#journal.covers(lease)) {
      return this.refuse(lease.pool, attempt, refused('storage_unavailable'));
    }
    this.#log.heard(row);
    const { presence } = attempt;
    // A hang-up at the moment at which a wait ends is noticed only a little later.
    if (grant.hasWaited && !presence.isGone) await pause(this.#clock, HANG_UP_MS);
    // An answer to nobody would cost the slot a whole term.
    const { isGone } = presence;
    if (!isGone && isHeld(lease, this.#clock.nowMs())) {
      this.#log.tally.note(row);
      return granted;
    }
    if (lease.isLive) this.#giveBack(lease);
    const hasPool = this.#pools.get(lease.pool) === pool;
    const code = !hasPool ? 'unauthorized' : isGone ? 'queue_timeout' : 'storage_unavailable';
    // Its row says that it was granted, as it was, and there is one an attempt: this only counts.
    this.#log.tally.note({ ...row, outcome: isGone ? 'client_gone' : code });
    return refused(code);
  }

  refuse(pool: string, attempt: Attempt, refused: Refused): Refused {
    this.#log.noteRefusal(entryOf(refused, attempt, { pool, at: this.#epochMs() }));
    return refused;
  }

  /** A refusal that nobody is left to hear. */
  callerGone(pool: string, attempt: Attempt, refused: Refused): Refused {
    const entry = entryOf(refused, attempt, { pool, at: this.#epochMs() });
    this.#log.noteRefusal({ ...entry, outcome: 'client_gone', status: null });
    return refused;
  }

  #epochMs(): number {
    return epochMsOf(this.#clock);
  }
}
