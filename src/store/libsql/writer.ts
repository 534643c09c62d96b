/**
 * Writes to a database file on a connection of their own, by statements that are each prepared
 * once. The client prepares a statement anew each time and finds out by a caught error that it
 * returns no rows, which takes longer than the write itself. Each runs to its end before it
 * answers, so nothing of it stands open.
 */
import Database from 'libsql';

export interface WriterOptions {
  /** Or a URI of the file. */
  readonly path: string;
  /** Run on the new connection before anything else. */
  readonly pragmas: string;
  /** How long a lock of another process is waited for, ms. */
  readonly busyWaitMs: number;
}

/** One statement; what it says is one of few texts, and what it is about stands in `args`. */
export interface Write {
  readonly sql: string;
  readonly args: (string | number)[];
}

export interface Written {
  readonly changes: number;
  /** The number of the row that was written last. */
  readonly rowId: number;
}

export class Writer {
  readonly #database: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor({ path, pragmas, busyWaitMs }: WriterOptions) {
    this.#database = new Database(path, { timeout: busyWaitMs });
    try {
      this.#database.exec(pragmas);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** @throws what the driver throws; the statement may then be run again. */
  write({ sql, args }: Write): Written {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    const { changes, lastInsertRowid } = statement.run(args);
    return { changes, rowId: Number(lastInsertRowid) };
  }

  /**
   * Writes all or nothing.
   * @throws what the driver throws. Where it could not even be undone, the lock is held until
   * {@link close}, and nothing may be written before.
   */
  writeAll(writes: readonly Write[]): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const write of writes) this.write(write);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  /** Its statements are open until they are collected, and with them a transaction under way. */
  close(): void {
    this.#undo();
    this.#database.close();
  }

  /** Ends a transaction under way. Never throws: what it was begun for has failed already. */
  #undo(): void {
    try {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
    } catch {
      // To close it tries again.
    }
  }
}
