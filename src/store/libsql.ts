/**
 * The store on libSQL: a file here, or a server that speaks libSQL. It puts the pieces in
 * src/store/libsql together and says in which order a database is opened and closed. It must not
 * touch a database before it knows that the database is sound, known and free.
 */
import {
  BEAT_MS,
  beatClaim,
  type Claim,
  readMarks,
  releaseClaim,
  silentEpoch,
  takeClaim,
} from './claim.ts';
import { Connection } from './libsql/connection.ts';
import { storeError } from './libsql/store_error.ts';
import { createFolder } from './libsql/file.ts';
import { pathOfUrl, urlOfPath } from './libsql/file_url.ts';
import { readChanges, readGovernors, saveGovernors } from './libsql/governors.ts';
import * as desk from './libsql/desk.ts';
import { deleteLeases } from './libsql/fold.ts';
import { type Admit, Inspection } from './libsql/inspection.ts';
import { Journal, readLeases } from './libsql/journal.ts';
import { readLoggedPools, readLogPage } from './libsql/log.ts';
import { migrateSchema } from './libsql/migrate.ts';
import { Pruning } from './libsql/pruning.ts';
import * as rows from './libsql/rows.ts';
import {
  type Batch,
  type ChangeRow,
  type GovernorRow,
  type HistoryRow,
  type KeyChanges,
  type KeyRow,
  type LogPage,
  type LogQuery,
  type NonceRow,
  type PoolRow,
  type Retention,
  type SessionRow,
  type Snapshot,
  type Store,
  StoreError,
} from './store.ts';

/** When so much was appended the write-ahead log, then some 8 MB, is emptied into the main file. */
const CHECKPOINT_BYTES = 4 * 1024 * 1024;

export interface LibsqlOptions {
  /** `file:` with a path, or `libsql:`, `https:`, `http:`, `wss:`, `ws:`. */
  readonly url: string;
  readonly authToken?: string;
  /** A fresh id of this process. */
  readonly owner: string;
  /**
   * Locks a file beside the database until this process ends; false where another process has it.
   * Without it, or with a remote database, ownership is known by the owner's beat alone.
   */
  readonly lock?: (path: string) => Promise<boolean>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly admit?: Admit;
  /** Called whenever it is found that another server has claimed the database. */
  readonly lost?: () => void;
}

interface Opened {
  readonly connection: Connection;
  readonly journal: Journal;
  readonly pruning: Pruning;
}

export class LibsqlStore implements Store {
  readonly #options: LibsqlOptions;
  /** Null where the database is remote. */
  readonly #path: string | null;
  #opened: Opened | null = null;
  readonly #inspection: Inspection;
  /** The checkpoint under way, part of which runs beside other work. Never rejects. */
  #checkpointing: Promise<void> = Promise.resolve();

  constructor(options: LibsqlOptions) {
    this.#options = options;
    this.#inspection = new Inspection(options.admit);
    this.#path = /^file:/i.test(options.url) ? pathOfUrl(options.url) : null;
  }

  get beatMs(): number | null {
    return this.#isLocked ? null : BEAT_MS;
  }

  get #isLocked(): boolean {
    return this.#path !== null && this.#options.lock !== undefined;
  }

  async open(): Promise<Snapshot> {
    const { url, authToken, owner, lock, sleep, lost } = this.#options;
    const path = this.#path;
    const isLocked = this.#isLocked;
    if (path !== null) {
      createFolder(path);
      if (lock !== undefined && !await lock(`${path}-lock`)) {
        throw new StoreError('owned', `another server is running on the database ${path}`);
      }
      await this.#inspection.ofFile(path);
    }
    const connection = new Connection({
      url: path === null ? url : urlOfPath(path),
      authToken,
      path,
      lost,
    });
    try {
      if (path === null) await this.#inspection.ofRemote(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    try {
      if (connection.isFile) {
        await connection.run((client) => client.executeMultiple('PRAGMA journal_mode = WAL'));
      }
      const silent = isLocked ? null : await silentEpoch(connection, sleep);
      // The URL may hold a token.
      const isNew = await migrateSchema(connection, path ?? new URL(url).host);
      const claim = await takeClaim(connection, { owner, isLocked, sleep, silentEpoch: silent });
      connection.epoch = claim.epoch;
      return await this.#recover(connection, claim, isNew);
    } catch (error) {
      connection.close();
      throw storeError(error);
    }
  }

  async #recover(connection: Connection, claim: Claim, isNew: boolean): Promise<Snapshot> {
    const pruning = new Pruning(connection);
    const found = await readLeases(connection);
    const journal = new Journal(connection, { stored: found, marks: claim, pruning });
    await journal.replay();
    const pools = await rows.readPools(connection);
    const names = new Set(pools.map(({ name }) => name));
    const stored = await readLeases(connection);
    const orphans = stored.filter(({ row }) => !names.has(row.pool));
    if (orphans.length > 0) await connection.write([deleteLeases(orphans.map(({ id }) => id))]);
    const leases = stored.map(({ row }) => row).filter(({ pool }) => names.has(pool));
    const { fence, attempt } = await readMarks(connection);
    this.#opened = { connection, journal, pruning };
    await this.#checkpoint();
    return {
      pools,
      keys: await rows.readKeys(connection),
      leases,
      governors: await readGovernors(connection),
      fence: leases.reduce((most, lease) => Math.max(most, lease.fence), fence),
      attempt,
      isNew,
    };
  }

  commit(batch: Batch): Promise<void> {
    return this.#journal.commit(batch);
  }

  async foldMuch(): Promise<void> {
    await this.fold(this.#journal.isWorthFolding);
  }

  /** Whoever folds commits, and when: it is they that make the write-ahead log grow. */
  async fold(isToFold = true): Promise<void> {
    this.#connection.checkFile();
    if (isToFold) await this.#journal.fold();
    if (this.#journal.appendedBytes >= CHECKPOINT_BYTES) await this.#checkpoint();
  }

  savePools(pools: readonly PoolRow[], keys?: KeyChanges): Promise<void> {
    return rows.savePools(this.#connection, pools, keys);
  }

  removePool(name: string): Promise<void> {
    return rows.removePool(this.#connection, name);
  }

  saveKeys(keys: readonly KeyRow[]): Promise<void> {
    return rows.saveKeys(this.#connection, keys);
  }

  removeKey(pool: string, id: string): Promise<void> {
    return rows.removeKey(this.#connection, pool, id);
  }

  touchKeys(usedAt: ReadonlyMap<string, number>): Promise<void> {
    return rows.touchKeys(this.#connection, usedAt);
  }

  readValue(name: string): Promise<string | null> {
    return rows.readValue(this.#connection, name);
  }

  saveValue(name: string, value: string): Promise<void> {
    return rows.saveValue(this.#connection, name, value);
  }

  saveGovernors(learned: readonly GovernorRow[], changes: readonly ChangeRow[]): Promise<void> {
    return saveGovernors(this.#connection, learned, changes);
  }

  readChanges(pool: string, limit: number): Promise<readonly ChangeRow[]> {
    return readChanges(this.#connection, pool, limit);
  }

  addSession(session: SessionRow): Promise<void> {
    return desk.addSession(this.#connection, session);
  }

  touchSessions(usedAt: ReadonlyMap<string, number>): Promise<void> {
    return desk.touchSessions(this.#connection, usedAt);
  }

  removeSessions(hashes: readonly string[]): Promise<void> {
    return desk.removeSessions(this.#connection, hashes);
  }

  readSessions(): Promise<SessionRow[]> {
    return desk.readSessions(this.#connection);
  }

  saveHistory(points: readonly HistoryRow[]): Promise<void> {
    return desk.saveHistory(this.#connection, points);
  }

  readHistory(): Promise<HistoryRow[]> {
    return desk.readHistory(this.#connection);
  }

  async readNonces(): Promise<readonly NonceRow[]> {
    await this.#journal.fold();
    return rows.readNonces(this.#connection);
  }

  pruneNonces(before: number): Promise<void> {
    return rows.pruneNonces(this.#connection, before);
  }

  async readLog(query: LogQuery): Promise<LogPage> {
    await this.#journal.fold();
    return readLogPage(this.#connection, query, () => this.#options.sleep(0));
  }

  pruneLog(retention: Retention): Promise<boolean> {
    return this.#used.pruning.step(retention);
  }

  async loggedPools(): Promise<readonly string[]> {
    await this.#journal.fold();
    return readLoggedPools(this.#connection);
  }

  probe(): Promise<void> {
    return beatClaim(this.#connection);
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    try {
      try {
        await this.#journal.fold();
      } finally {
        // The fold may have begun one. What was not folded the next process does, and at once.
        await this.#checkpointing;
        await releaseClaim(connection);
      }
      if (connection.isFile) await connection.execute('PRAGMA wal_checkpoint(TRUNCATE)', []);
    } finally {
      connection.close();
      this.#opened = null;
      this.#inspection.forget();
    }
  }

  async #checkpoint(): Promise<void> {
    const before = this.#journal.appendedBytes;
    const done = this.#connection.checkpoint();
    this.#checkpointing = done.then(() => {}, () => {});
    // Where somebody reads from the log just now, a later fold tries again.
    if (await done) this.#journal.appendedBytes -= before;
  }

  get #connection(): Connection {
    return this.#used.connection;
  }

  get #journal(): Journal {
    return this.#used.journal;
  }

  get #used(): Opened {
    if (this.#opened === null) throw new StoreError('failed', 'The store is not open.');
    return this.#opened;
  }
}
