/** Writes by prepared statements: what one that fails leaves behind. */
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { Writer } from '../../src/store/libsql/writer.ts';
import { folder } from './samples.ts';

const INSERT = 'INSERT INTO thing (id) VALUES (?)';

function writerOn(path: string): Writer {
  const pragmas = 'PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS thing (id UNIQUE);';
  return new Writer({ path, pragmas, busyWaitMs: 5 });
}

function insert(...ids: number[]) {
  return ids.map((id) => ({ sql: INSERT, args: [id] }));
}

/** What another connection sees. */
function stored(path: string): number[] {
  const other = new Database(path);
  const ids = other.prepare('SELECT id FROM thing ORDER BY id').pluck().all() as number[];
  other.close();
  return ids;
}

test('tells how many rows a write changed, and the number of the last', () => {
  const writer = writerOn(join(folder(), 'a.db'));
  expect(writer.write({ sql: INSERT, args: [7] })).toEqual({ changes: 1, rowId: 1 });
  const none = { sql: 'INSERT INTO thing (id) SELECT ?1 WHERE 0', args: [8] };
  expect(writer.write(none).changes).toBe(0);
  writer.close();
});

test('writes all or nothing, and goes on after a failure', () => {
  const path = join(folder(), 'a.db');
  const writer = writerOn(path);
  writer.writeAll(insert(1, 2));
  expect(() => writer.writeAll(insert(3, 2, 4))).toThrow(/UNIQUE/);
  expect(stored(path)).toEqual([1, 2]);
  writer.writeAll(insert(3, 4));
  writer.write({ sql: INSERT, args: [5] });
  expect(stored(path)).toEqual([1, 2, 3, 4, 5]);
  writer.close();
});

test('where somebody else writes, it writes nothing and holds nothing', () => {
  const path = join(folder(), 'a.db');
  const writer = writerOn(path);
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE; INSERT INTO thing (id) VALUES (9)');
  const busy = expect.objectContaining({ code: 'SQLITE_BUSY' });
  expect(() => writer.writeAll(insert(1))).toThrow(busy);
  other.exec('COMMIT');
  other.exec('BEGIN IMMEDIATE; COMMIT');
  other.close();
  writer.writeAll(insert(1));
  expect(stored(path)).toEqual([1, 9]);
  writer.close();
});

test('what could not be undone is undone when it closes', () => {
  const path = join(folder(), 'a.db');
  const writer = writerOn(path);
  const { exec } = Database.prototype;
  const broken = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (
    this: Database.Database,
    sql: string,
  ) {
    if (sql === 'COMMIT' || sql === 'ROLLBACK') throw new Error(`no ${sql}`);
    return exec.call(this, sql);
  });
  expect(() => writer.writeAll(insert(1))).toThrow('no COMMIT');
  broken.mockRestore();
  writer.close();
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE; COMMIT');
  other.close();
  expect(stored(path)).toEqual([]);
});
