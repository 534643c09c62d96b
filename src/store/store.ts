/**
 * The contract of a store: what survives the process. A store keeps rows and decides nothing; the
 * scheduler says what the rows are. Instants in rows are epoch ms, so that they mean the same to
 * the next process.
 */
import type { LogEntry } from './entry.ts';

/** A lock lease as it is stored at its grant. Renewals are not stored: see {@link Snapshot}. */
export interface LeaseRow {
  readonly slotId: string;
  readonly pool: string;
  readonly slots: number;
  readonly fence: number;
  readonly attempt: string;
  readonly keyId: string | null;
  readonly holder: string | null;
  readonly grantedAt: number;
  readonly termMs: number;
  readonly requestDeadline: number;
  readonly inFlight: number;
  readonly tokens: number;
  /** The key under which its acquire may be repeated, where there is one. */
  readonly repeatKey?: string | undefined;
}

/** What one flush writes, in one transaction: all of it is durable, or none. */
export interface Batch {
  readonly leases: readonly LeaseRow[];
  /** Slot ids of leases that ended. */
  readonly ended: readonly string[];
  readonly entries: readonly LogEntry[];
  /** The highest fence that was given so far. */
  readonly fence: number;
  /** Nonces that were taken; absent: none. */
  readonly nonces?: readonly NonceRow[];
}

/** A nonce that must not come again, or what else is noted of them. It outlives its pool. */
export interface NonceRow {
  readonly pool: string;
  readonly nonce: string;
  /** Epoch ms until which it is kept. */
  readonly until: number;
}

export interface PoolRow {
  readonly name: string;
  /** The pool's whole settings as JSON, as the wire has them. */
  readonly settings: string;
  readonly createdAt: number;
  /** An operator's pause as JSON (`{"untilMs": number|null, "reason": string|null}`), or null. */
  readonly pause: string | null;
  /** Whether a configuration file owns the pool. */
  readonly isManaged: boolean;
}

/** What is known of a pool before the database is opened. */
export type StoredPool = Pick<PoolRow, 'name' | 'settings'>;

export interface KeyRow {
  readonly id: string;
  readonly pool: string;
  readonly name: string;
  /** Lower-case hex SHA-256 of the key. */
  readonly hash: string;
  /** The key's first characters, by which people know it again. */
  readonly prefix: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

/** What changes of keys: a row is saved by its pool and id, those that are removed go first. */
export interface KeyChanges {
  readonly saved: readonly KeyRow[];
  readonly removed: readonly Pick<KeyRow, 'pool' | 'id'>[];
}

/** What a pool's governor learned, as JSON. */
export interface GovernorRow {
  readonly pool: string;
  readonly saved: string;
}

/** One thing that a pool's governor changed. */
export interface ChangeRow {
  readonly pool: string;
  readonly at: number;
  readonly what: string;
  readonly from: number | null;
  readonly to: number | null;
  readonly why: string;
  readonly evidence: string;
}

/** A signed-in session of the admin page. */
export interface SessionRow {
  readonly hash: string;
  readonly createdAt: number;
  readonly usedAt: number;
}

/** What all pools did in one step of a chart's span. */
export interface HistoryRow {
  readonly span: string;
  /** The step's place in its ring: a later step takes the place over. */
  readonly cell: number;
  readonly at: number;
  /** JSON. */
  readonly points: string;
}

/** All that a starting server needs. Leases whose pool is gone are not in it. */
export interface Snapshot {
  readonly pools: readonly PoolRow[];
  readonly keys: readonly KeyRow[];
  readonly leases: readonly LeaseRow[];
  readonly governors: readonly GovernorRow[];
  /** The highest fence that may have been given; 0 in a new database. */
  readonly fence: number;
  /** The highest number that an attempt's id was made of; 0 in a new database. */
  readonly attempt: number;
  /** Whether the database was new. */
  readonly isNew: boolean;
}

export interface LogQuery {
  readonly pool: string;
  /** Entries an answer, 1 to 1000. */
  readonly limit: number;
  /** Where the page before ended: see {@link isLogCursor}. */
  readonly cursor?: string;
  readonly outcome?: string;
  readonly keyId?: string;
  /** Epoch ms, both inclusive. */
  readonly since?: number;
  readonly until?: number;
}

export interface LogPage {
  /** Newest first. */
  readonly entries: readonly LogEntry[];
  /** For the next page; null where there is none. A page may be short, even empty, and have one. */
  readonly nextCursor: string | null;
}

/** Whether a text can be a {@link LogPage.nextCursor}: the number of an entry. */
export function isLogCursor(text: string): boolean {
  return /^(0|[1-9]\d{0,14})$/.test(text);
}

/** How much of a pool's log is kept. */
export interface Retention {
  readonly pool: string;
  readonly rowsMax: number;
  /** Entries older than this epoch ms go. */
  readonly since: number;
  /** Entries of this epoch ms or later stay beyond `rowsMax`, too. */
  readonly sparedSince: number;
}

export interface Store {
  /**
   * Brings the schema up to date, claims the database for this process and reads what survived.
   * @throws StoreError `damaged`, `foreign`, `newer_schema` or `owned`, and the database is
   * untouched; or `busy`, `failed` or `unusable`.
   */
  open(): Promise<Snapshot>;
  /**
   * Makes the batch durable (power loss too) before it resolves. Applying a batch again, or after
   * part of it was lost in doubt, does no harm: rows are set or deleted by their id.
   * @throws StoreError `busy`, `failed`, `unusable` or `lost`.
   */
  commit(batch: Batch): Promise<void>;
  /**
   * Moves what was committed to where it stays, as whoever reads or prunes the log has it first.
   * @throws StoreError as commit does; nothing is lost, and the next fold does it.
   */
  fold(): Promise<void>;
  /**
   * The same once there is so much that it is worth it. To be called a few times a second while
   * commits come; it also finds out where the database is gone.
   * @throws StoreError as fold does.
   */
  foldMuch(): Promise<void>;
  /** Saves all of them, and what changes of keys, in one write: all or, where it fails, nothing. */
  savePools(rows: readonly PoolRow[], keys?: KeyChanges): Promise<void>;
  /** Deletes the pool, its keys and what its governor learned. */
  removePool(name: string): Promise<void>;
  saveKeys(rows: readonly KeyRow[]): Promise<void>;
  removeKey(pool: string, id: string): Promise<void>;
  /** Notes when keys were last used: key id to epoch ms. */
  touchKeys(usedAt: ReadonlyMap<string, number>): Promise<void>;
  /** Keeps what governors learned, and of each pool the newest `CHANGES_KEPT` changes. */
  /** Rows of pools that are not stored (any more) are left out. */
  saveGovernors(
    rows: readonly GovernorRow[],
    changes: readonly ChangeRow[],
  ): Promise<void>;
  /** A pool's newest changes first, at most `limit`. */
  readChanges(pool: string, limit: number): Promise<readonly ChangeRow[]>;
  addSession(row: SessionRow): Promise<void>;
  /** Those of these sessions that are still there were used at these epoch ms, by their hash. */
  touchSessions(usedAt: ReadonlyMap<string, number>): Promise<void>;
  removeSessions(hashes: readonly string[]): Promise<void>;
  readSessions(): Promise<readonly SessionRow[]>;
  saveHistory(rows: readonly HistoryRow[]): Promise<void>;
  readHistory(): Promise<readonly HistoryRow[]>;
  /** Small named values of the server itself, such as the hash of the admin token. */
  readValue(name: string): Promise<string | null>;
  saveValue(name: string, value: string): Promise<void>;
  /** The nonces that were committed, those that are over too. */
  readNonces(): Promise<readonly NonceRow[]>;
  /** Forgets nonces that were kept until before this epoch ms. */
  pruneNonces(before: number): Promise<void>;
  readLog(query: LogQuery): Promise<LogPage>;
  /** Deletes some of what is beyond a bound, in one small step; true where more is left. */
  pruneLog(retention: Retention): Promise<boolean>;
  /** The pools that have log entries, deleted ones too. */
  loggedPools(): Promise<readonly string[]>;
  /** Resolves when a small write was durable; others see by it that the owner lives. */
  probe(): Promise<void>;
  /** How often it must be probed to keep its owner, ms; null where a lock keeps it. */
  readonly beatMs: number | null;
  /** Gives the claim back. Nothing may be called afterwards. */
  close(): Promise<void>;
}

/**
 * `busy`: another process holds the write lock; trying again soon may do. `failed`: the disk is
 * full or broken, or a remote database does not answer; later may do. `unusable`: a right is
 * missing, the disk is read-only, no file can be at the path, or what is stored makes no sense;
 * somebody must see to it. `lost`: another server has claimed the database. `owned`, `damaged`,
 * `foreign` (of another program), `newer_schema`: told by {@link Store.open} alone.
 */
export type StoreErrorKind =
  | 'busy'
  | 'failed'
  | 'unusable'
  | 'lost'
  | 'owned'
  | 'damaged'
  | 'foreign'
  | 'newer_schema';

export class StoreError extends Error {
  override name = 'StoreError';
  readonly kind: StoreErrorKind;

  /** @param message one plain sentence for people. */
  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function damagedPoolError(name: string, why: string): StoreError {
  return new StoreError(
    'damaged',
    `The pool ${name} is damaged in the database, and was left as it is: ${why}. Restore a backup.`,
  );
}
