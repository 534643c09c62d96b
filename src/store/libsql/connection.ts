/**
 * The way to a libSQL database: the client, and beside it an appender where it is a file. It runs
 * one piece of work at a time, in order, turns every error into a StoreError, and after an error
 * makes sure that the next work meets a sound connection. It must never hand out a connection on
 * which a statement of the driver still stands open: later writes on it would be answered before
 * they are durable, and keep the write lock.
 */
import { statSync } from 'node:fs';
import { type Client, createClient, type InStatement, type ResultSet } from '@libsql/client';
import { drizzle, type LibSQLDatabase } from 'drizzle-orm/libsql';
import { messageOf } from '../../log.ts';
import { StoreError } from '../store.ts';
import { Appender } from './appender.ts';

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
}

export class Connection {
  /** Builds statements, and runs them inside {@link run}. */
  readonly drizzle: LibSQLDatabase;
  /** The claim under which this process writes; 0 before it has one. */
  epoch = 0;
  readonly #client: Client;
  readonly #path: string | null;
  /** Made by the first append, and anew after the connection is. */
  #appender: Appender | null = null;
  /** Device and inode of the file, known from the first use on. */
  #file = '';
  /** The same of its write-ahead log; empty while it is not known. */
  #log = '';
  #tail: Promise<unknown> = Promise.resolve();
  #doubt: 'none' | 'statement' | 'connection' = 'connection';

  constructor(options: ConnectionOptions) {
    this.#path = options.path;
    const { url, authToken } = options;
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

  get isFile(): boolean {
    return this.#path !== null;
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
   * Writes one row, and returns its number; null where the statement wrote none. Every call has the
   * same SQL.
   */
  async append(sql: string, args: (string | number)[]): Promise<number | null> {
    const { changes, rowId } = await this.run(async (client) => {
      if (this.#path !== null) return this.#appenderOf(this.#path, sql).append(args);
      const { rowsAffected, lastInsertRowid } = await client.execute({ sql, args });
      return { changes: rowsAffected, rowId: Number(lastInsertRowid) };
    });
    return changes === 1 ? rowId : null;
  }

  /**
   * Empties the write-ahead log into the main file; false where somebody reads from the log. The
   * log's file keeps its size, since a commit that lengthens it takes twice as long. The mark that
   * follows is the new log's first page, by which a start knows whether log and main file belong
   * together. No other write may come between, so both are one piece of work.
   */
  async checkpoint(): Promise<boolean> {
    if (!this.isFile) return true;
    return await this.run(async (client) => {
      const { rows } = await client.execute('PRAGMA wal_checkpoint(RESTART)');
      if (rows[0]?.busy !== 0) return false;
      // The mark's own transaction is not in the main file, and has been counted by then.
      await client.batch([guard(this.epoch), 'UPDATE claim SET base = writes - 1'], 'write');
      return true;
    });
  }

  /**
   * Looks whether the file and its log are still where they were. SQLite goes on writing to a file
   * that was moved or removed, and a start would find nothing of that. While the file is away all
   * further work fails; a log that is away is first emptied into the file.
   */
  checkFile(): void {
    if (this.#path === null) return;
    this.#checkMainFile(this.#path);
    const log = fileAt(`${this.#path}-wal`);
    // The log of a new connection may be a new file.
    if (this.#log === '') this.#log = log;
    if (log === this.#log) return;
    this.#doubt = 'connection';
    throw new StoreError('failed', `The log ${this.#path}-wal was moved, removed or replaced.`);
  }

  close(): void {
    this.#appender?.close();
    this.#client.close();
  }

  #appenderOf(path: string, sql: string): Appender {
    const options = { path, sql, pragmas: PRAGMAS, busyWaitMs: BUSY_WAIT_MS };
    return this.#appender ??= new Appender(options);
  }

  async #attempt<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      if (this.#doubt !== 'none') await this.#recover();
      return await work(this.#client);
    } catch (error) {
      const cause = storeError(error);
      // A statement that met a lock stands open until the garbage collector finds it. All other
      // errors end their statement, and a new connection each time would pile up open files.
      if (cause.kind === 'busy') this.#doubt = 'connection';
      else if (cause.kind === 'failed' && this.#doubt === 'none') this.#doubt = 'statement';
      throw cause;
    }
  }

  /**
   * Proves the client with a small write of its own; an appender is made anew after a lock, and
   * resets its statement by itself. `executeMultiple` ends its statements even when they fail, so
   * this may be tried while a lock lasts and leaves nothing open.
   */
  async #recover(): Promise<void> {
    const path = this.#path;
    if (path !== null) {
      if (this.#file === '') this.#file = fileAt(path);
      this.#checkMainFile(path);
      if (this.#log !== '' && fileAt(`${path}-wal`) !== this.#log) await this.#emptyLog();
    }
    if (this.#doubt === 'connection') {
      this.#appender?.close();
      this.#appender = null;
      this.#log = '';
      await this.#client.reconnect();
    }
    this.#doubt = 'connection';
    if (this.isFile) await this.#client.executeMultiple(PRAGMAS);
    // COMMIT fails where a statement stands open.
    const proof = this.epoch === 0 ? '' : beatSql(this.epoch);
    await this.#client.executeMultiple(`BEGIN IMMEDIATE; ${proof} COMMIT;`);
    this.#doubt = 'none';
  }

  #checkMainFile(path: string): void {
    if (fileAt(path) === this.#file) return;
    this.#doubt = 'connection';
    throw new StoreError('failed', `The database ${path} was moved, removed or replaced.`);
  }

  /** The old connection alone still reaches a log that was removed, and all that is only there. */
  async #emptyLog(): Promise<void> {
    this.#doubt = 'connection';
    const { rows } = await this.#client.execute('PRAGMA wal_checkpoint(TRUNCATE)');
    if (rows[0]?.busy !== 0) {
      throw new StoreError('failed', `What was in ${this.#path}-wal could not be kept yet.`);
    }
  }
}

function fetchInTime(input: Request): Promise<Response> {
  return fetch(input, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
}

function fileAt(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return 'none';
  }
}

function beatSql(epoch: number): string {
  return `UPDATE claim SET beat = beat + 1 WHERE epoch = ${Math.trunc(epoch)};`;
}

/** Fails the transaction that it heads, by the check of `claim.epoch`, when the claim is lost. */
function guard(epoch: number): InStatement {
  return {
    sql: `UPDATE claim SET writes = writes + 1, epoch = CASE epoch WHEN ?1 THEN ?1 ELSE -1 END`,
    args: [epoch],
  };
}

/** What an error of the driver means to the host. */
export function storeError(error: unknown): StoreError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StoreError) return cause;
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
      return new StoreError('busy', 'Another process holds the write lock of the database.', {
        cause,
      });
    }
    if (code.startsWith('SQLITE_CONSTRAINT') && cause.message.includes('claim_epoch')) {
      return lostError();
    }
  }
  const message = messageOf(error);
  return new StoreError('failed', `The database could not be read or written: ${message}.`, {
    cause: error,
  });
}

export function lostError(): StoreError {
  return new StoreError('lost', 'Another server has claimed the database.');
}
