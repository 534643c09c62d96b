/** Locks of other processes, as the calls of the store beside the journal's meet them. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BUSY_MS_MAX, patient } from '../../src/scheduler/patience.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store.ts';
import { ManualClock } from '../support/manual_clock.ts';
import { TestStore } from '../support/test_store.ts';

const LOCKED = { kind: 'busy' };

let clock: ManualClock;
let inner: TestStore;
let store: Store;

beforeEach(() => {
  clock = new ManualClock();
  inner = new TestStore();
  store = patient(inner, clock);
});

/** How a call ends, once it has. */
function watched(call: Promise<unknown>): { end: unknown } {
  const seen: { end: unknown } = { end: null };
  call.then(() => seen.end = 'done', (error: StoreError) => seen.end = error.kind);
  return seen;
}

const key = (id: string) => ({ id }) as Parameters<Store['saveKeys']>[0][number];

describe('a call that meets a lock', () => {
  it('goes through once the lock is gone, however often it was met', async () => {
    inner.trouble = 'busy';
    const saving = watched(store.saveKeys([key('a')]));
    await clock.pass(BUSY_MS_MAX - 100);
    expect([saving.end, inner.keys.size]).toEqual([null, 0]);
    inner.trouble = null;
    await clock.pass(10);
    expect([saving.end, inner.keys.size]).toEqual(['done', 1]);
  });

  it('fails once the lock has lasted for long, and so do all who come after it', async () => {
    inner.trouble = 'busy';
    const calls = ['a', 'b', 'c'].map((id) => watched(store.saveKeys([key(id)])));
    await clock.pass(BUSY_MS_MAX - 1);
    expect(calls.map(({ end }) => end)).toEqual([null, null, null]);
    await clock.pass(1);
    expect(calls.map(({ end }) => end)).toEqual(['busy', 'busy', 'busy']);
    await expect(store.removePool('p')).rejects.toMatchObject(LOCKED);
    inner.trouble = null;
    await store.saveKeys([key('d')]);
    inner.trouble = 'busy';
    const later = watched(store.saveKeys([key('e')]));
    await clock.pass(500);
    expect(later.end).toBe(null);
  });

  it('is tried by one at a time', async () => {
    const saveKeys = vi.spyOn(inner, 'saveKeys');
    inner.trouble = 'busy';
    const calls = ['a', 'b', 'c', 'd'].map((id) => watched(store.saveKeys([key(id)])));
    await clock.pass(105);
    expect(saveKeys.mock.calls.length).toBeLessThan(4 + 12);
    inner.trouble = null;
    await clock.pass(10);
    expect(calls.map(({ end }) => end)).toEqual(['done', 'done', 'done', 'done']);
    expect([...inner.keys.keys()]).toEqual(['a', 'b', 'c', 'd']);
  });
});

it.each(['failed', 'lost'] as const)('a store that is %s is told of at once', async (kind) => {
  inner.trouble = kind;
  await expect(store.saveKeys([key('a')])).rejects.toMatchObject({ kind });
  expect(clock.armed).toBe(0);
});

it("a commit is the journal's to try again", async () => {
  inner.trouble = 'busy';
  const batch = { leases: [], ended: [], entries: [], fence: 1 };
  await expect(store.commit(batch)).rejects.toMatchObject(LOCKED);
  expect(inner.tried).toHaveLength(1);
});
