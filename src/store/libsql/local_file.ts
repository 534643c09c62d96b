/**
 * A database that is a file here, beside the client's connection to it: the connections that write
 * and copy, its log's way to the disk, and whether both files are still where they were. SQLite
 * goes on writing to a file that was moved or removed, and a start would find nothing of that.
 */
import { StoreError } from '../store.ts';
import { Checkpointer } from './checkpointer.ts';
import { fileIdAt } from './file_id.ts';
import { urlOfPath } from './file_url.ts';
import { LogFile } from './log_file.ts';
import { type Write, Writer, type Written } from './writer.ts';

export interface LocalFileOptions {
  readonly path: string;
  /** Run on each new connection that writes. */
  readonly pragmas: string;
  /** How long a lock of another process is waited for, ms. */
  readonly busyWaitMs: number;
  /** Called before it is thrown that the file or its log is away. */
  readonly away: () => void;
}

/** Synced by this file, or need not reach the disk by themselves. */
const NOT_SYNCED = 'PRAGMA synchronous = NORMAL;';

export class LocalFile {
  readonly path: string;
  /** Whether what the log holds may not be on the disk although it was to be. */
  isLogInDoubt = false;
  readonly #options: LocalFileOptions;
  readonly #log: LogFile;
  /** Both are made by their first use, and anew after they were closed. */
  #writer: Writer | null = null;
  #checkpointer: Checkpointer | null = null;
  /** Whether something was appended: a log that was removed before is seen then. */
  #hasAppended = false;
  /** The file in use, known from the first use on. */
  #fileId: string | null = null;

  constructor(options: LocalFileOptions) {
    this.path = options.path;
    this.#options = options;
    this.#log = new LogFile(`${options.path}-wal`);
  }

  /** Whether the log in use is no longer what is found under its path. */
  get isLogAway(): boolean {
    return this.#log.isAway;
  }

  /**
   * Writes, and resolves once it is durable.
   * @param isShared see {@link LogFile.sync}
   */
  async append(write: Write, isShared: boolean): Promise<Written> {
    if (!this.#hasAppended) this.check();
    const written = this.#theWriter.write(write);
    this.#hasAppended = true;
    try {
      await this.#log.sync(isShared);
    } catch (error) {
      this.isLogInDoubt = true;
      throw error;
    }
    return written;
  }

  /** Writes all or nothing, which reaches the disk with a later write. */
  rearrange(writes: readonly Write[]): void {
    this.#theWriter.writeAll(writes);
  }

  /** Copies the log into the main file, beside the writes that go on. */
  async copy(): Promise<void> {
    await this.#theCheckpointer.copy();
  }

  /** @throws StoreError where the file or its log was moved, removed or replaced. */
  check(): void {
    this.checkMainFile();
    if (!this.#log.isAway) return;
    throw this.#away(`The log ${this.#log.path} was moved, removed or replaced.`);
  }

  /** @throws StoreError where the file was moved, removed or replaced. */
  checkMainFile(): void {
    const found = fileIdAt(this.path);
    this.#fileId ??= found;
    if (found === null || found !== this.#fileId) {
      throw this.#away(`The database ${this.path} was moved, removed or replaced.`);
    }
  }

  /** Closes its connections; the next use makes new ones. */
  close(): void {
    this.#writer?.close();
    this.#checkpointer?.close();
    this.#log.close();
    this.#writer = this.#checkpointer = null;
    this.#hasAppended = false;
  }

  get #theWriter(): Writer {
    const { busyWaitMs, pragmas } = this.#options;
    return this.#writer ??= new Writer({
      path: this.#url(),
      pragmas: pragmas + NOT_SYNCED,
      busyWaitMs,
    });
  }

  get #theCheckpointer(): Checkpointer {
    return this.#checkpointer ??= new Checkpointer(this.#url(), this.#options.busyWaitMs);
  }

  /** The file as SQLite opens it without making a new one, should it be gone. */
  #url(): string {
    this.check();
    return `${urlOfPath(this.path)}?mode=rw`;
  }

  #away(message: string): StoreError {
    this.#options.away();
    return new StoreError('failed', message);
  }
}
