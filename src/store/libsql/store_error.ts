/**
 * What an error of the driver means to the host. It owns the reading of the driver's codes.
 */
import { messageOf } from '../../log.ts';
import { StoreError } from '../store.ts';

export function storeError(error: unknown): StoreError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StoreError) return cause;
    const code = codeOf(cause);
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
  return new StoreError(
    isUnusable(error) ? 'unusable' : 'failed',
    `The database could not be read or written: ${message}.`,
    { cause: error },
  );
}

/** Of the codes of SQLite and of the system, those that no time puts right. */
const UNUSABLE = new RegExp(
  '^(SQLITE_(CANTOPEN|READONLY|PERM|AUTH|ERROR|CORRUPT|NOTADB)' +
    '|E(ACCES|PERM|ROFS|ISDIR|NOTDIR|LOOP|NAMETOOLONG)$)',
);

function isUnusable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // What is stored is no JSON where it must be.
    if (UNUSABLE.test(codeOf(cause)) || cause instanceof SyntaxError) return true;
    const status = 'status' in cause ? Number(cause.status) : 0;
    if (status >= 400 && status < 500) return true;
  }
  return false;
}

/** The code of an error of the driver or the file system; empty where it has none. */
export function codeOf(error: unknown): string {
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return hasCode ? error.code as string : '';
}

/** Whether the disk itself failed to read or write, and is neither full nor locked. */
export function isOfDisk(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (codeOf(cause).startsWith('SQLITE_IOERR')) return true;
  }
  return false;
}

export function lostError(): StoreError {
  return new StoreError('lost', 'Another server has claimed the database.');
}
