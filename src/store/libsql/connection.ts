/**
 * The way to a libSQL database: the client, and beside it a writer where it is a file. It runs
 * one piece of work at a time, in order, turns every error into a StoreError, and after an error
 * makes sure that the next work meets a sound connection. It must never hand out a connection on
 * which a statement of the driver still stands open: later writes on it would be answered before
 * they are durable, and keep the write lock. Nor may it go on with a log that failed to reach the
 * disk before the main file holds all of it.
 */
import { type Client, createClient, type InStatement, type ResultSet } from '@libsql/client';
import { drizzle, type LibSQLDatabase } from 'drizzle-orm/libsql';
import { StoreError } from '../store.ts';
import { LocalFile } from './local_file.ts';
import { isOfDisk, lostError, storeError } from './store_error.ts';
import type { Write } from './writer.ts';

/** The driver waits on the main thread, so it may hardly wait at all; callers try again. */
const BUSY_WAIT_MS = 5;

/** A remote database that has not answered within this time has failed. */
const ANSWER_MS_MAX = 5_000;

/** Checkpoints are made after a fold; this is SQLite's own, should there be no folds (16 MB). */
const CHECKPOINT_PAGES = 4000;

/** A log that grew larger while somebody read from it is cut to this once it begins anew. */
const LOG_BYTES_KEPT = CHECKPOINT_PAGES * 4096;

const PRAGMAS = `PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
  PRAGMA journal_size_limit = ${LOG_BYTES_KEPT};`;

export interface ConnectionOptions {
  /** A URL that the client takes. */
  readonly url: string;
  readonly authToken?: string | undefined;
  /** Where it is a file here, with a write-ahead log that is ours to tend; else null. */
  readonly path: string | null;
  /** Called whenever the claim is found to be another's. */
  readonly lost?: (() => void) | undefined;
}

export class Connection {
  /** Builds statements, and runs them inside {@link run}. */
  readonly drizzle: LibSQLDatabase;
  /** The claim under which this process writes; 0 before it has one. */
  epoch = 0;
  readonly #client: Client;
  readonly #file: LocalFile | null;
  readonly #onLost: () => void;
  #tail: Promise<unknown> = Promise.resolve();
  #doubt: 'none' | 'statement' | 'connection' = 'connection';

  constructor(options: ConnectionOptions) {
    const { url, authToken, path, lost } = options;
    this.#onLost = lost ?? (() => {});
    this.#file = path === null ? null : new LocalFile({
      path,
      pragmas: PRAGMAS,
      busyWaitMs: BUSY_WAIT_MS,
      away: () => this.#doubt = 'connection',
    });
    try {
      this.#client = createClient({
        url,
        ...(authToken === undefined ? {} : { authToken }),
        concurrency: 1,
        timeout: BUSY_WAIT_MS,
        fetch: fetchInTime,
      });
    } catch (error) {
      throw storeError(error);
    }
    this.drizzle = drizzle(this.#client);
  }

  /** The error of whoever found that the claim is another's; the host is told of it first. */
  lost(): StoreError {
    this.#onLost();
    return lostError();
  }

  get isFile(): boolean {
    return this.#file !== null;
  }

  /** Runs the work when all earlier work has ended. The work alone uses {@link client}. */
  run<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const done = this.#tail.then(() => this.#attempt(work));
    this.#tail = done.catch(() => {});
    return done;
  }

  execute(sql: string, args: (string | number | null)[]): Promise<ResultSet> {
    return this.run((client) => client.execute({ sql, args }));
  }

  /** Runs the statements in one transaction, if the claim is still ours. */
  write(statements: InStatement[]): Promise<ResultSet[]> {
    return this.run((client) => client.batch([guard(this.epoch), ...statements], 'write'));
  }

  /**
   * The same for what only moves within the database: it reaches the disk with a later write, and
   * where it is lost all is as it was before.
   */
  rearrange(writes: readonly Write[]): Promise<void> {
    return this.run((client) => this.#rearrange(client, writes));
  }

  /**
   * Writes one row, and returns its number once it is durable; null where the statement wrote none.
   * @param isShared see {@link LogFile.sync}
   */
  async append(write: Write, isShared: boolean): Promise<number | null> {
    const { changes, rowId } = await this.run(async (client) => {
      if (this.#file !== null) return await this.#file.append(write, isShared);
      const { rowsAffected, lastInsertRowid } = await client.execute(write);
      return { changes: rowsAffected, rowId: Number(lastInsertRowid) };
    });
    return changes === 1 ? rowId : null;
  }

  /**
   * Empties the write-ahead log into the main file; false where somebody reads from the log. The
   * log's file keeps its size, since a commit that lengthens it takes twice as long. Most of it is
   * copied beside other writes. The mark that follows is the new log's first page, by which a start
   * knows whether log and main file belong together: from the rest to the mark no other write may
   * come between, so that is one piece of work.
   */
  async checkpoint(): Promise<boolean> {
    const file = this.#file;
    if (file === null) return true;
    await file.copy().catch((error) => {
      throw this.#doubted(error);
    });
    return await this.run(async (client) => {
      await file.copy();
      const { rows } = await client.execute('PRAGMA wal_checkpoint(RESTART)');
      if (rows[0]?.busy !== 0) return false;
      // The mark's own transaction is not in the main file, and has been counted by then.
      await this.#rearrange(client, [{ sql: 'UPDATE claim SET base = writes - 1', args: [] }]);
      return true;
    });
  }

  /**
   * Looks whether the file and its log are still where they were. While the file is away all
   * further work fails; a log that is away is first emptied into the file.
   */
  checkFile(): void {
    this.#file?.check();
  }

  close(): void {
    this.#file?.close();
    this.#client.close();
  }

  async #rearrange(client: Client, writes: readonly Write[]): Promise<void> {
    const all = [guard(this.epoch), ...writes];
    if (this.#file === null) await client.batch(all, 'write');
    else this.#file.rearrange(all);
  }

  async #attempt<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      if (this.#doubt !== 'none') await this.#recover();
      return await work(this.#client);
    } catch (error) {
      throw this.#doubted(error);
    }
  }

  /** What the error means, once it is noted what must not be trusted any more. */
  #doubted(error: unknown): StoreError {
    const cause = storeError(error);
    if (cause.kind === 'lost') return this.lost();
    // Where SQLite's own sync fails, earlier pages of the log may be lost that nobody waited for.
    if (isOfDisk(error) && this.#file !== null) this.#file.isLogInDoubt = true;
    // A statement that met a lock stands open until the garbage collector finds it. All other
    // errors end their statement, and a new connection each time would pile up open files.
    if (cause.kind === 'busy') this.#doubt = 'connection';
    else if (this.#doubt === 'none') this.#doubt = 'statement';
    return cause;
  }

  /**
   * Proves the client with a small write of its own, and with it that no writer has the lock; one
   * is made anew after a lock. `executeMultiple` ends its statements even when they fail, so this
   * may be tried while a lock lasts and leaves nothing open.
   */
  async #recover(): Promise<void> {
    const file = this.#file;
    if (file !== null) {
      file.checkMainFile();
      if (file.isLogInDoubt || file.isLogAway) {
        // A writer that could not undo its work holds the lock.
        file.close();
        await this.#emptyLog(file);
      }
    }
    if (this.#doubt === 'connection') {
      file?.close();
      await this.#client.reconnect();
    }
    this.#doubt = 'connection';
    if (this.isFile) await this.#client.executeMultiple(PRAGMAS);
    // COMMIT fails where a statement stands open.
    const proof = this.epoch === 0 ? '' : beatSql(this.epoch);
    await this.#client.executeMultiple(`BEGIN IMMEDIATE; ${proof} COMMIT;`);
    // The log in use is known from here on, before anything is told that stands in it alone.
    this.checkFile();
    this.#doubt = 'none';
  }

  /**
   * The old connection alone still reaches a log that was removed, and all that is only there.
   * After a sync that failed the system may take the log for written: only the main file is sure.
   */
  async #emptyLog(file: LocalFile): Promise<void> {
    this.#doubt = 'connection';
    const { rows } = await this.#client.execute('PRAGMA wal_checkpoint(TRUNCATE)');
    if (rows[0]?.busy !== 0) {
      throw new StoreError('failed', `What was in ${file.path}-wal could not be kept yet.`);
    }
    file.isLogInDoubt = false;
  }
}

function fetchInTime(input: Request): Promise<Response> {
  return fetch(input, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
}

function beatSql(epoch: number): string {
  return `UPDATE claim SET beat = beat + 1 WHERE epoch = ${Math.trunc(epoch)};`;
}

/** Fails the transaction that it heads, by the check of `claim.epoch`, when the claim is lost. */
function guard(epoch: number): Write {
  return {
    sql: `UPDATE claim SET writes = writes + 1, epoch = CASE epoch WHEN ?1 THEN ?1 ELSE -1 END`,
    args: [epoch],
  };
}
