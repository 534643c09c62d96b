/**
 * One statement, prepared once, on a connection of its own to a database file. The client prepares
 * a statement anew each time and finds out by a caught error that it returns no rows, which takes
 * as long as the write itself. It runs to its end before it answers, so nothing of it stands open.
 */
import Database from 'libsql';

export interface AppenderOptions {
  /** Or a URI of the file. */
  readonly path: string;
  /** Run on the new connection before anything else. */
  readonly pragmas: string;
  readonly sql: string;
  /** How long a lock of another process is waited for, ms. */
  readonly busyWaitMs: number;
}

export interface Appended {
  readonly changes: number;
  /** The number of the row that was written last. */
  readonly rowId: number;
}

export class Appender {
  readonly #database: Database.Database;
  readonly #statement: Database.Statement;

  constructor({ path, pragmas, sql, busyWaitMs }: AppenderOptions) {
    this.#database = new Database(path, { timeout: busyWaitMs });
    try {
      this.#database.exec(pragmas);
      this.#statement = this.#database.prepare(sql);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** @throws what the driver throws; the statement may then be run again. */
  append(args: readonly (string | number)[]): Appended {
    const { changes, lastInsertRowid } = this.#statement.run(args);
    return { changes, rowId: Number(lastInsertRowid) };
  }

  close(): void {
    this.#database.close();
  }
}
