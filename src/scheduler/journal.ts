/**
 * Write-through: memory leads, disk follows, replies last. The journal keeps which leases changed
 * and writes their current state (a row if live, a deletion if not) in one flush for all who wait,
 * so flushes coalesce and retry without a question of order. It never tells a grant before the
 * flush that covers it, and a flush that failed leaves its ids to be written by the next.
 */
import type { Lease } from '../core/lease.ts';
import type { LogEntry } from '../store/entry.ts';
import type { Batch, LeaseRow, NonceRow, Store } from '../store/store.ts';
import { StoreError } from '../store/store.ts';
import type { Clock, Timer } from './clock.ts';
import { Histogram } from './histogram.ts';
import { BUSY_MS_MAX, BUSY_RETRY_MS } from './patience.ts';
import { rowOf } from './rows.ts';

/** A flush waits for company until a pass of the event loop brings none, at most so long. */
const GATHER_MS_MAX = 0.6;
/** What nobody waits for is durable within this time. */
const LINGER_MS = 200;
/** So many entries are not kept waiting: a flush of more would hold up all calls for long. */
const ENTRIES_SOON = 250;
/** Upper bounds of the flush times that are counted, in ms. */
const FLUSH_BOUNDS_MS = [0.5, 1, 2, 5, 10, 25, 50, 100, 250, 1_000];
/** How often a failing store is tried again. */
const PROBE_MS = 250;
/** Entries that nobody waits for, kept while the store fails or hangs; beyond it the oldest go. */
const ENTRIES_MAX = 10_000;
/** Nonces, likewise. Nothing that a dropped one allowed was told while the store failed. */
const NONCES_MAX = 10_000;

export interface JournalEvents {
  /** The store began to fail: the grants of these leases were never told to anyone. */
  failing(untold: readonly Lease[], error: unknown): void;
  recovered(): void;
  /** Another server owns the database now: this one must end. */
  lost(): void;
}

interface Covered {
  readonly lease: Lease;
  readonly told: (isDurable: boolean) => void;
}

export class Journal {
  /** How long flushes took that were durable, and how many were not. */
  readonly flushes = new Histogram(FLUSH_BOUNDS_MS);
  failures = 0;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #events: JournalEvents;
  readonly #fence: () => number;

  #dirty = new Set<Lease>();
  #entries: LogEntry[] = [];
  #nonces: NonceRow[] = [];
  #covered: Covered[] = [];
  #state: 'idle' | 'gathering' | 'flushing' | 'waiting' | 'closed' = 'idle';
  #isFailing = false;
  /** One linger timer at a time, never cancelled on the way: that costs more than the flush. */
  #lingerTimer: Timer | null = null;
  #isLingering = false;
  #retryTimer: Timer | null = null;
  #busySinceMs = -1;
  #idle: (() => void)[] = [];

  constructor(
    store: Store,
    clock: Clock,
    options: { events: JournalEvents; fence: () => number },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#events = options.events;
    this.#fence = options.fence;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** A durable lease began, ended, or means another epoch instant than its row says. */
  changed(lease: Lease): void {
    this.#dirty.add(lease);
    this.#linger();
  }

  log(entry: LogEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length - this.#covered.length > ENTRIES_MAX) this.#dropOldest();
    if (this.#isCrowded && this.#state === 'idle') this.#gather();
    this.#linger();
  }

  /** Of what the store cannot take: the rows of grants that wait to be told stay. */
  #dropOldest(): void {
    const waiting = new Set(this.#covered.map(({ lease }) => lease.attempt));
    let left = ENTRIES_MAX / 10;
    this.#entries = this.#entries.filter(({ id }) => left === 0 || waiting.has(id) || left-- === 0);
  }

  /** Writes a nonce down; whatever lease is handed over later is durable no sooner than it. */
  keepNonce(row: NonceRow): void {
    this.#nonces.push(row);
    if (this.#isFailing && this.#nonces.length > NONCES_MAX) {
      this.#nonces.splice(0, NONCES_MAX / 10);
    }
    this.#linger();
  }

  /** Resolves once the lease's row is durable (true), or could not be made so (false). */
  covers(lease: Lease): Promise<boolean> {
    return new Promise((told) => {
      this.#covered.push({ lease, told });
      if (this.#state === 'idle') this.#gather();
    });
  }

  /** Resolves when all that was handed over before is durable, or the store fails. */
  settled(): Promise<void> {
    return new Promise((done) => {
      this.#idle.push(done);
      if (this.#state === 'idle') this.#gather();
      else if (this.#isFailing || this.#state === 'closed') this.#tellIdle();
    });
  }

  /** Whether all that was handed over before is durable; resolves once that is known. */
  async isKept(): Promise<boolean> {
    await this.settled();
    return !this.#isFailing && this.#state !== 'closed';
  }

  close(): void {
    this.#lingerTimer?.cancel();
    this.#retryTimer?.cancel();
    this.#state = 'closed';
  }

  /** Sees to it that what nobody waits for is flushed in time; a timer too many does no harm. */
  #linger(): void {
    if (this.#isLingering) return;
    this.#isLingering = true;
    this.#lingerTimer = this.#clock.after(LINGER_MS, () => {
      this.#isLingering = false;
      if (this.#state === 'idle' && this.#isDirty) void this.#flush();
    });
  }

  /** Waits for company: as long as each pass of the event loop brings more, and not too long. */
  #gather(): void {
    this.#state = 'gathering';
    const sinceMs = this.#clock.preciseMs();
    let seen = this.#covered.length;
    const look = () => {
      if (this.#state !== 'gathering') return;
      const isQuiet = this.#covered.length === seen;
      if (isQuiet || this.#clock.preciseMs() - sinceMs >= GATHER_MS_MAX) return void this.#flush();
      seen = this.#covered.length;
      this.#clock.soon(look);
    };
    this.#clock.soon(look);
  }

  async #flush(): Promise<void> {
    this.#state = 'flushing';
    const dirty = this.#dirty;
    const entries = this.#entries;
    const nonces = this.#nonces;
    const covered = this.#covered;
    const idle = this.#idle;
    this.#dirty = new Set();
    this.#entries = [];
    this.#nonces = [];
    this.#covered = [];
    this.#idle = [];
    const sinceMs = this.#clock.preciseMs();
    const batch = this.#batch(dirty, entries);
    try {
      await this.#store.commit(nonces.length === 0 ? batch : { ...batch, nonces });
      this.flushes.note(this.#clock.preciseMs() - sinceMs);
    } catch (error) {
      this.failures++;
      for (const lease of this.#dirty) dirty.add(lease);
      this.#dirty = dirty;
      this.#entries = entries.concat(this.#entries);
      this.#nonces = nonces.concat(this.#nonces);
      this.#covered = covered.concat(this.#covered);
      this.#idle = idle.concat(this.#idle);
      return this.#failed(error);
    }
    this.#busySinceMs = -1;
    this.#state = 'idle';
    for (const { told } of covered) told(true);
    for (const done of idle) done();
    if (this.#isFailing) {
      this.#isFailing = false;
      this.#events.recovered();
    }
    if (this.#state !== 'idle') return;
    if (this.#covered.length > 0 || this.#idle.length > 0 || this.#isCrowded) this.#gather();
    else if (this.#isDirty) this.#linger();
  }

  get #isDirty(): boolean {
    return this.#dirty.size > 0 || this.#entries.length > 0 || this.#nonces.length > 0;
  }

  get #isCrowded(): boolean {
    return this.#entries.length >= ENTRIES_SOON;
  }

  #batch(dirty: ReadonlySet<Lease>, entries: readonly LogEntry[]): Batch {
    const leases: LeaseRow[] = [];
    const ended: string[] = [];
    const shiftMs = this.#clock.shiftMs;
    for (const lease of dirty) {
      if (lease.isLive) {
        leases.push(rowOf(lease, shiftMs));
        // From now on, whether or not the flush succeeds.
        lease.isStored = true;
      } else if (lease.isStored) ended.push(lease.slotId);
    }
    return { leases, ended, entries, fence: this.#fence() };
  }

  #failed(error: unknown): void {
    const kind = error instanceof StoreError ? error.kind : 'failed';
    if (kind === 'lost') {
      this.#state = 'closed';
      this.#events.lost();
      return;
    }
    this.#state = 'waiting';
    if (kind === 'busy' && !this.#isFailing) {
      const nowMs = this.#clock.nowMs();
      if (this.#busySinceMs < 0) this.#busySinceMs = nowMs;
      if (nowMs - this.#busySinceMs < BUSY_MS_MAX) {
        this.#retryTimer = this.#clock.after(BUSY_RETRY_MS, () => void this.#flush());
        return;
      }
    }
    this.#busySinceMs = -1;
    this.#retryTimer = this.#clock.after(PROBE_MS, () => void this.#flush());
    this.#giveUp(error);
  }

  /** Tells all who wait that nothing was made durable; their grants leave no trace in the log. */
  #giveUp(error: unknown): void {
    const covered = this.#covered;
    this.#covered = [];
    const untold = new Set(covered.map(({ lease }) => lease.attempt));
    this.#entries = this.#entries.filter((entry) => !untold.has(entry.id));
    const isNews = !this.#isFailing;
    this.#isFailing = true;
    if (isNews || covered.length > 0) {
      this.#events.failing(covered.map(({ lease }) => lease), error);
    }
    for (const { told } of covered) told(false);
    this.#tellIdle();
  }

  #tellIdle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const done of idle) done();
  }
}
