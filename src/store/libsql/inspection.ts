/**
 * The look at a database before anything is written to it: whether it is sound and known, and
 * whether whoever opens it can use its pools. What is thrown here leaves it as it was.
 */
import type { StoredPool } from '../store.ts';
import type { Connection } from './connection.ts';
import { createFile, inspectFile, refuseOtherNames } from './file.ts';
import { fileIdAt } from './file_id.ts';
import { readSchema } from './migrate.ts';
import { readStoredPools } from './rows.ts';

/** Hears of the pools of a database that is to be opened; what it throws ends the opening. */
export type Admit = (pools: readonly StoredPool[]) => Promise<void>;

export class Inspection {
  readonly #admit: Admit;
  /** The file that was inspected, by its id. */
  #inspected: string | null = null;

  constructor(admit: Admit = () => Promise.resolve()) {
    this.#admit = admit;
  }

  /**
   * Makes the file where there is none. The same file is not inspected again when a lock ended the
   * first try: its connection may live on until the garbage collector finds it, and its locks,
   * which the next one shares, must not be dropped.
   */
  async ofFile(path: string): Promise<void> {
    if (this.#inspected !== null && fileIdAt(path) === this.#inspected) return;
    refuseOtherNames(path);
    await this.#admit(await inspectFile(path) ?? []);
    await createFile(path);
    this.#inspected = fileIdAt(path);
  }

  async ofRemote(connection: Connection): Promise<void> {
    const pools = await connection.run(async (client) => {
      const { hashes } = await readSchema(client);
      return hashes.length === 0 ? [] : await readStoredPools(client);
    });
    await this.#admit(pools);
  }

  /** The connection is closed: the next one begins anew. */
  forget(): void {
    this.#inspected = null;
  }
}
