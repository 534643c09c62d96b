/** The connection to a file: what it no longer trusts after an error of the disk. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LibsqlError } from '@libsql/client';
import { expect, test, vi } from 'vitest';
import { Checkpointer } from '../../src/store/libsql/checkpointer.ts';
import { Connection } from '../../src/store/libsql/connection.ts';
import { urlOfPath } from '../../src/store/libsql/file_url.ts';
import { folder, opened } from './samples.ts';

/** A connection with something in its log, and the log's size when the next work begins. */
async function withLog() {
  const path = join(folder(), 'a.db');
  await (await opened(path)).close();
  const connection = new Connection({ url: urlOfPath(path), path });
  await connection.execute('UPDATE claim SET beat = beat + 1', []);
  const logBytes = () => connection.run(() => Promise.resolve(statSync(`${path}-wal`).size));
  return { connection, logBytes };
}

test('a log that SQLite failed to sync is emptied before anything more is told', async () => {
  const { connection, logBytes } = await withLog();
  const failsWith = (code: string) =>
    expect(connection.run(() => {
      throw new LibsqlError('disk', code);
    })).rejects.toMatchObject({ kind: 'failed' });
  await failsWith('SQLITE_FULL');
  expect(await logBytes(), 'a full disk lost nothing').toBeGreaterThan(0);
  await failsWith('SQLITE_IOERR');
  expect(await logBytes()).toBe(0);
  connection.close();
});

test('a copy beside other work that fails is a StoreError, and the log is in doubt', async () => {
  const { connection, logBytes } = await withLog();
  const error = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
  const copy = vi.spyOn(Checkpointer.prototype, 'copy').mockRejectedValueOnce(error);
  await expect(connection.checkpoint()).rejects.toMatchObject({ name: 'StoreError' });
  expect(copy).toHaveBeenCalledTimes(1);
  expect(await logBytes()).toBe(0);
  copy.mockRestore();
  connection.close();
});

test('a file that is gone before its first use is not taken for one made anew', async () => {
  const path = join(folder(), 'a.db');
  await (await opened(path)).close();
  const connection = new Connection({ url: urlOfPath(path), path });
  rmSync(path);
  for (let tries = 0; tries < 3; tries++) {
    await expect(connection.execute('SELECT 1', [])).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('was moved, removed or replaced'),
    });
  }
  connection.close();
});
