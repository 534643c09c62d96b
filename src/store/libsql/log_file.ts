/**
 * The write-ahead log beside a database file, as a file: whether it is still where it was, and its
 * way to the disk. Commits are synced here and not by SQLite, since the driver would stop the whole
 * process meanwhile: a slow disk must hold up nobody but those who wait for that very write.
 */
import { type BigIntStats, closeSync, fdatasync, fstatSync, openSync, statSync } from 'node:fs';

const EXACT = { bigint: true } as const;

export class LogFile {
  readonly path: string;
  /** From the first use on, until it is closed. */
  #file: { readonly fd: number; readonly id: string } | null = null;

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
    return used.id !== idAt(this.path);
  }

  /**
   * Resolves when all that was written to the log before is on the disk. Runs on another thread.
   * @throws what the file system throws; what was written before may then be lost in a crash.
   */
  sync(): Promise<void> {
    const { fd } = this.#use();
    return new Promise((done, failed) => {
      fdatasync(fd, (error) => error === null ? done() : failed(error));
    });
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
      this.#file = { fd, id: idOf(fstatSync(fd, EXACT)) };
    }
    return this.#file;
  }
}

function idAt(path: string): string | null {
  try {
    return idOf(statSync(path, EXACT));
  } catch {
    return null;
  }
}

function idOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}
