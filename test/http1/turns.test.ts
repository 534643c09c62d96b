import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { turns } from '../../src/http1/turns.ts';

const FULL = 120;
/** From so many full turns on callers are held. */
const FULL_TURNS = 4;
const HELD_TURNS = 32;
const NEXT_TURN_MS = 3;

const turn = () => new Promise((done) => setImmediate(done));

function reads(count: number): void {
  for (let each = 0; each < count; each++) turns.noteRead();
}

/** Turns in each of which so many reads end. */
async function busy(count: number, passes = 1): Promise<void> {
  for (let pass = 0; pass < passes; pass++) {
    reads(count);
    await turn();
  }
}

/** A turn that is not full: nobody is held, and no full turn is remembered. */
const quiet = () => busy(1);

/** So many connections that their reads can fill a turn. */
function opened(count: number): void {
  for (let each = 0; each < count; each++) turns.noteOpened();
}

function closed(count: number): void {
  for (let each = 0; each < count; each++) turns.noteClosed();
}

beforeEach(async () => {
  opened(FULL);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await quiet();
});

afterEach(() => {
  vi.useRealTimers();
  closed(FULL);
});

/** Holds a caller, and counts when it is let go. */
function hold() {
  const go = vi.fn();
  const held = turns.forOthers();
  expect(held).not.toBeNull();
  void held?.then(go);
  return go;
}

describe('turns', () => {
  it('hold nobody where they are not full, or only now and then', async () => {
    expect(turns.forOthers()).toBeNull();
    await busy(FULL - 1, 20);
    expect(turns.forOthers()).toBeNull();
    for (let rounds = 0; rounds < 5; rounds++) {
      await busy(FULL, FULL_TURNS - 1);
      expect(turns.forOthers()).toBeNull();
      await quiet();
    }
  });

  it('hold nobody where too few are connected for one to be put off', async () => {
    closed(1);
    await busy(FULL, 2 * FULL_TURNS);
    expect(turns.forOthers()).toBeNull();
    opened(1);
    await busy(FULL, FULL_TURNS);
    hold();
  });

  it('that were full are forgotten by a quiet one, also among few', async () => {
    await busy(FULL, FULL_TURNS - 1);
    closed(1);
    await quiet();
    opened(1);
    await busy(FULL);
    expect(turns.forOthers()).toBeNull();
  });

  it('that stay full hold who was read until one that was not full', async () => {
    await busy(FULL, FULL_TURNS);
    const go = hold();
    await busy(FULL, 3);
    expect(go).not.toHaveBeenCalled();
    await quiet();
    expect(go).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(turns.forOthers()).toBeNull();
  });

  it('let go of all who wait, also where nothing more is read', async () => {
    await busy(FULL, FULL_TURNS);
    const all = [hold(), hold(), hold()];
    vi.advanceTimersByTime(NEXT_TURN_MS - 1);
    await turn();
    expect(all.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
    vi.advanceTimersByTime(1);
    await turn();
    expect(all.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('hold again at the next full one, where they were let go without a pause', async () => {
    await busy(FULL, FULL_TURNS);
    hold();
    vi.advanceTimersByTime(NEXT_TURN_MS);
    expect(turns.forOthers()).toBeNull();
    await busy(FULL);
    hold();
  });

  it('hold nobody for ever, however many others are read without an end', async () => {
    await busy(FULL, FULL_TURNS);
    const go = hold();
    await busy(FULL, HELD_TURNS - 1);
    expect(go).not.toHaveBeenCalled();
    await busy(FULL);
    expect(go).toHaveBeenCalledTimes(1);
    const late = hold();
    await turn();
    expect(late).toHaveBeenCalledTimes(1);
  });
});
