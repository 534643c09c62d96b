/** A commit on its way to the disk: waited for while the process goes on; and where it fails. */
import { fdatasync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterEach, expect, test, vi } from 'vitest';
import { batch, entry, folder, lease, libsqlAt, opened } from './samples.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, fdatasync: vi.fn(fs.fdatasync) };
});

afterEach(() => {
  vi.mocked(fdatasync).mockReset();
});

/** The rows of the journal that the main file holds by itself. */
async function journalOfMainFile(path: string): Promise<number> {
  const uri = encodeURIComponent(`file:${path}?immutable=1`);
  const client = createClient({ url: `file:${uri}`, concurrency: 1 });
  const { rows } = await client.execute('SELECT count(*) AS held FROM journal');
  client.close();
  return Number(rows[0]?.held);
}

test('a commit is told only when the log has reached the disk', async () => {
  const store = await opened(join(folder(), 'a.db'));
  let reach = () => {};
  vi.mocked(fdatasync).mockImplementation((_, done) => void (reach = () => done(null)));
  let isTold = false;
  const told = store.commit(batch({ leases: [lease('s1')] })).then(() => isTold = true);
  await new Promise((done) => setTimeout(done, 20));
  expect(isTold).toBe(false);
  reach();
  await told;
  vi.mocked(fdatasync).mockImplementation((_, done) => done(null));
  await store.close();
});

test('a log that failed to reach the disk is emptied before anything more is told', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  vi.mocked(fdatasync).mockImplementationOnce((_, done) => done(null));
  await store.commit(batch({ leases: [lease('s1')], entries: [entry('1')] }));
  expect(await journalOfMainFile(path)).toBe(0);

  vi.mocked(fdatasync).mockImplementationOnce((_, done) => done(new Error('EIO')));
  await expect(store.commit(batch({ leases: [lease('s2')] }))).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('EIO'),
  });

  let heldBySync = -1;
  vi.mocked(fdatasync).mockImplementationOnce((_, done) => {
    void journalOfMainFile(path).then((held) => {
      heldBySync = held;
      done(null);
    });
  });
  await store.commit(batch({ leases: [lease('s2')], entries: [entry('2')] }));
  // The first, and the one that failed, whose rows the third repeats.
  expect(heldBySync).toBe(2);
  await store.close();

  const again = libsqlAt(path);
  const { leases } = await again.open();
  expect(leases.map(({ slotId }) => slotId).sort()).toEqual(['s1', 's2']);
  await again.close();
});

test('nothing is told while the log cannot be emptied', async () => {
  const path = join(folder(), 'a.db');
  const store = await opened(path);
  vi.mocked(fdatasync).mockImplementation((_, done) => done(null));
  await store.commit(batch({ leases: [lease('s1')] }));
  const reader = createClient({ url: `file:${path}`, concurrency: 1 });
  const reading = await reader.transaction('read');
  await reading.execute('SELECT * FROM claim');
  vi.mocked(fdatasync).mockImplementationOnce((_, done) => done(new Error('EIO')));
  const retry = () => store.commit(batch({ leases: [lease('s2')] }));
  await expect(retry()).rejects.toMatchObject({ kind: 'failed' });
  await expect(retry()).rejects.toMatchObject({ kind: 'failed' });
  await reading.rollback();
  reader.close();
  await retry();
  await store.close();
});
