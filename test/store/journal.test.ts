/** The journal and its connection where an answer of the database is lost on the way. */
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { describe, expect, test } from 'vitest';
import { readMarks } from '../../src/store/claim.ts';
import { Connection } from '../../src/store/libsql/connection.ts';
import { Journal, readLeases } from '../../src/store/libsql/journal.ts';
import { Pruning } from '../../src/store/libsql/pruning.ts';
import type { Write } from '../../src/store/libsql/writer.ts';
import { StoreError } from '../../src/store/store.ts';
import { batch, entry, folder, lease, libsqlAt, NEVER, opened } from './samples.ts';

/** Loses the answers of transactions, before or after they were done. */
class LossyConnection extends Connection {
  loses: 'nothing' | 'requests' | 'answers' = 'nothing';

  override async rearrange(writes: readonly Write[]): Promise<void> {
    const lost = new StoreError('failed', 'The answer was lost.');
    if (this.loses === 'requests') throw lost;
    await super.rearrange(writes);
    if (this.loses === 'answers') throw lost;
  }
}

async function lossyJournal(path: string) {
  await (await opened(path)).close();
  const connection = new LossyConnection({ url: `file:${path}`, path });
  const { rows } = await connection.execute('SELECT epoch FROM claim', []);
  connection.epoch = Number(rows[0]?.epoch);
  const marks = await readMarks(connection);
  const stored = await readLeases(connection);
  const pruning = new Pruning(connection);
  return { connection, pruning, journal: new Journal(connection, { stored, marks, pruning }) };
}

describe('a fold', () => {
  test.each(['requests', 'answers'] as const)('is done once where %s are lost', async (loses) => {
    const path = join(folder(), 'a.db');
    const { connection, journal } = await lossyJournal(path);
    await journal.commit(batch({ leases: [lease('s1'), lease('s2')], entries: [entry('1')] }));
    connection.loses = loses;
    await expect(journal.fold()).rejects.toMatchObject({ kind: 'failed' });
    await journal.commit(batch({
      leases: [lease('s3')],
      ended: ['s1'],
      entries: [entry('2')],
      fence: 4,
    }));
    await expect(journal.fold()).rejects.toMatchObject({ kind: 'failed' });
    connection.loses = 'nothing';
    await journal.fold();
    const { rows } = await connection.execute('SELECT count(*) AS held FROM journal', []);
    expect(rows[0]?.held).toBe(0);
    connection.close();
    const store = libsqlAt(path);
    const { leases } = await store.open();
    expect(leases.map(({ slotId }) => slotId).sort()).toEqual(['s2', 's3']);
    const { entries } = await store.readLog({ pool: 'a', limit: 9 });
    expect(entries.map(({ id }) => id)).toEqual(['2', '1']);
    await store.close();
  });
});

test('what is pruned is right, also where it was in doubt what was folded', async () => {
  const path = join(folder(), 'a.db');
  const { connection, journal, pruning } = await lossyJournal(path);
  const prune = (rowsMax: number) =>
    pruning.step({ pool: 'a', rowsMax, since: 0, sparedSince: NEVER });
  await journal.commit(batch({ entries: [entry('1'), entry('2'), entry('3')] }));
  await journal.fold();
  await prune(9);
  await journal.commit(batch({ entries: [entry('4')] }));
  connection.loses = 'answers';
  await expect(journal.fold()).rejects.toMatchObject({ kind: 'failed' });
  connection.loses = 'nothing';
  await prune(9);
  await journal.fold();
  await journal.commit(batch({ entries: [entry('5')] }));
  await journal.fold();
  await prune(2);
  const { rows } = await connection.execute('SELECT total(count) AS kept FROM log_segment', []);
  expect(rows[0]?.kept).toBe(2);
  connection.close();
});

describe('a connection', () => {
  const settings = async (connection: Connection) => {
    const synchronous = await connection.execute('PRAGMA synchronous', []);
    const timeout = await connection.execute('PRAGMA busy_timeout', []);
    const journal = await connection.execute('PRAGMA journal_mode', []);
    return [synchronous, timeout, journal].map(({ rows }) => rows[0]?.[0]);
  };

  test('syncs every commit and hardly waits, after an error too', async () => {
    const path = join(folder(), 'a.db');
    const { connection } = await lossyJournal(path);
    expect(await settings(connection)).toEqual([2, 5, 'wal']);
    await expect(connection.execute('SELECT nothing', [])).rejects
      .toMatchObject({ kind: 'unusable' });
    expect(await settings(connection)).toEqual([2, 5, 'wal']);
    const outside = createClient({ url: `file:${path}` });
    const holder = await outside.transaction('write');
    await expect(connection.write([])).rejects.toMatchObject({ kind: 'busy' });
    await holder.rollback();
    expect(await settings(connection)).toEqual([2, 5, 'wal']);
    outside.close();
    connection.close();
  });

  test('runs one piece of work at a time, in the order in which it was asked', async () => {
    const { connection } = await lossyJournal(join(folder(), 'a.db'));
    const done: number[] = [];
    let isRunning = false;
    await Promise.allSettled([3, 1, 2].map((n) =>
      connection.run(async () => {
        expect(isRunning).toBe(false);
        isRunning = true;
        for (let turn = 0; turn < n; turn += 1) await Promise.resolve();
        isRunning = false;
        done.push(n);
        if (n === 1) throw new Error('one fails, the next runs');
      })
    ));
    expect(done).toEqual([3, 1, 2]);
    connection.close();
  });
});
