/**
 * Copies the write-ahead log into the main file on a thread of the driver, beside the writes that
 * go on. It has a connection of its own, since one that is busy there would hold up the process.
 */
import Database from 'libsql/promise';

export class Checkpointer {
  readonly #database: Database;

  /**
   * @param path or a URI of the file.
   * @param busyWaitMs how long a lock of another process is waited for, ms.
   */
  constructor(path: string, busyWaitMs: number) {
    this.#database = new Database(path, { timeout: busyWaitMs });
  }

  /** Copies as much as nobody reads any more; writers are never kept waiting. */
  async copy(): Promise<void> {
    await this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }

  close(): void {
    this.#database.close();
  }
}
