/** A commit on its way to the disk: waited for while the process goes on; and where it fails. */
import { fdatasync, fdatasyncSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { batch, entry, folder, lease, libsqlAt, opened } from './samples.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const { fdatasync, fdatasyncSync } = fs;
  return { ...fs, fdatasync: vi.fn(fdatasync), fdatasyncSync: vi.fn(fdatasyncSync) };
});

const inPlace = vi.mocked(fdatasyncSync);
const beside = vi.mocked(fdatasync);

/** How fast the disk is goes by this clock, which only a sync moves: other work takes no time. */
let nowMs = 0;

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});

afterEach(() => {
  vi.restoreAllMocks();
  inPlace.mockReset();
  beside.mockReset();
});

/** A disk that takes `ms` for a sync. */
function takes(ms: number): void {
  inPlace.mockImplementation(() => void (nowMs += ms));
}

/** The rows of the journal that the main file holds by itself. */
async function journalOfMainFile(path: string): Promise<number> {
  const uri = encodeURIComponent(`file:${path}?immutable=1`);
  const client = createClient({ url: `file:${uri}`, concurrency: 1 });
  const { rows } = await client.execute('SELECT count(*) AS held FROM journal');
  client.close();
  return Number(rows[0]?.held);
}

test('a fast disk is waited for in place', async () => {
  const store = await opened(join(folder(), 'a.db'));
  takes(0.5);
  for (const id of ['s1', 's2', 's3']) await store.commit(batch({ leases: [lease(id)] }));
  expect(inPlace).toHaveBeenCalledTimes(3);
  expect(beside).not.toHaveBeenCalled();
  await store.close();
});

test('the disk is waited for beside the process where many calls share a commit', async () => {
  const store = await opened(join(folder(), 'a.db'));
  takes(0);
  const entries = Array.from({ length: 8 }, (_, n) => entry(`${n}`));
  await store.commit(batch({ entries: entries.slice(0, 7) }));
  expect([inPlace.mock.calls.length, beside.mock.calls.length]).toEqual([1, 0]);
  let reach = () => {};
  beside.mockImplementationOnce((_, done) => void (reach = () => done(null)));
  let isTold = false;
  const told = store.commit(batch({ entries })).then(() => isTold = true);
  await new Promise((done) => setTimeout(done, 20));
  expect([isTold, inPlace.mock.calls.length, beside.mock.calls.length]).toEqual([false, 1, 1]);
  reach();
  await told;
  await store.close();
});

test('a slow disk holds up nobody but who waits for it, until it is fast again', async () => {
  const store = await opened(join(folder(), 'a.db'));
  takes(30);
  await store.commit(batch({ leases: [lease('s1')] }));
  inPlace.mockClear();

  let reach = () => {};
  beside.mockImplementationOnce((_, done) => void (reach = () => done(null)));
  let isTold = false;
  const told = store.commit(batch({ leases: [lease('s2')] })).then(() => isTold = true);
  await new Promise((done) => setTimeout(done, 20));
  expect(isTold).toBe(false);
  expect(inPlace).not.toHaveBeenCalled();
  reach();
  await told;

  beside.mockImplementation((_, done) => done(null));
  takes(0);
  for (let at = 0; at < 30; at++) await store.commit(batch({ leases: [lease(`t${at}`)] }));
  expect(inPlace).toHaveBeenCalled();
  await store.close();
});

test('a log that failed to reach the disk is emptied before anything more is told', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  await store.commit(batch({ leases: [lease('s1')], entries: [entry('1')] }));
  expect(await journalOfMainFile(path)).toBe(0);

  inPlace.mockImplementationOnce(() => {
    throw new Error('EIO');
  });
  await expect(store.commit(batch({ leases: [lease('s2')] }))).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('EIO'),
  });

  let held: Promise<number> | null = null;
  inPlace.mockImplementationOnce(() => void (held = journalOfMainFile(path)));
  await store.commit(batch({ leases: [lease('s2')], entries: [entry('2')] }));
  // The first, and the one that failed, whose rows the third repeats.
  expect(await held).toBe(2);
  await store.close();

  const again = libsqlAt(path);
  const { leases } = await again.open();
  expect(leases.map(({ slotId }) => slotId).sort()).toEqual(['s1', 's2']);
  await again.close();
});

test('nothing is told while the log cannot be emptied', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  await store.commit(batch({ leases: [lease('s1')] }));
  const reader = createClient({ url: `file:${path}`, concurrency: 1 });
  const reading = await reader.transaction('read');
  await reading.execute('SELECT * FROM claim');
  inPlace.mockImplementationOnce(() => {
    throw new Error('EIO');
  });
  const retry = () => store.commit(batch({ leases: [lease('s2')] }));
  await expect(retry()).rejects.toMatchObject({ kind: 'failed' });
  await expect(retry()).rejects.toMatchObject({ kind: 'failed' });
  await reading.rollback();
  reader.close();
  await retry();
  await store.close();
});
