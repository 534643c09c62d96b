/**
 * The write-ahead log beside a database file, as a file: whether it is still where it was, and its
 * way to the disk. Commits are synced here and not by SQLite, since the driver would stop the whole
 * process meanwhile: a slow disk must hold up nobody but those who wait for that very write.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { fileIdAt, fileIdOf } from './file_id.ts';

/** A disk that is slower on the average is waited for on a thread; to wake one takes up to this. */
const SLOW_MS = 1;
/** How much the last sync counts in the average. */
const LAST_SHARE = 0.2;

export class LogFile {
  readonly path: string;
  /** From the first use on, until it is closed. */
  #file: { readonly fd: number; readonly id: string } | null = null;
  /** How long a sync took lately, ms. */
  #averageMs = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Whether the file in use is no longer what is found under its path. */
  get isAway(): boolean {
    let used: { readonly id: string };
    try {
      used = this.#use();
    } catch {
      // None was in use, and none is there.
      return false;
    }
    return used.id !== fileIdAt(this.path);
  }

  /**
   * Resolves when all that was written to the log before is on the disk.
   * @param isShared whether many calls wait for it: more come meanwhile, which is worth a thread.
   * @throws what the file system throws; what was written before may then be lost in a crash.
   */
  async sync(isShared: boolean): Promise<void> {
    const { fd } = this.#use();
    const sinceMs = performance.now();
    if (this.#averageMs < SLOW_MS && !isShared) fdatasyncSync(fd);
    else await syncBeside(fd);
    // Among many calls the loop is late to hear of it: that says nothing of the disk.
    if (!isShared) this.#averageMs += LAST_SHARE * (performance.now() - sinceMs - this.#averageMs);
  }

  /** Forgets the file: a new connection may make a new one. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file.fd);
    this.#file = null;
  }

  #use(): { readonly fd: number; readonly id: string } {
    if (this.#file === null) {
      // Syncing asks for no more than this, and the server gives its right to write away.
      const fd = openSync(this.path, 'r');
      this.#file = { fd, id: fileIdOf(fd) };
    }
    return this.#file;
  }
}

function syncBeside(fd: number): Promise<void> {
  return new Promise((done, failed) => {
    fdatasync(fd, (error) => error === null ? done() : failed(error));
  });
}
