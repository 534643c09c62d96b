import { describe, expect, test } from 'vitest';
import { Level } from '../../../src/core/governor/level.ts';
import { T0 } from './fixtures.ts';

const BOUNDS = { min: 1, max: 64 };

/** Drives one level: each call is a full level's next call, and takes no time. */
class Search {
  readonly level: Level;
  nowMs = T0;
  sequence = 0;

  constructor(value: number, bounds = BOUNDS) {
    this.level = new Level(bounds, value);
  }

  succeed(calls = 1, inFlight = this.level.value): void {
    for (let count = 0; count < calls; count += 1) {
      this.nowMs += 10;
      const start = { sequence: ++this.sequence, inFlight, atMs: this.nowMs };
      const known = { last: this.sequence, refusalMs: 0, isPaced: false };
      this.level.succeeded(this.nowMs, start, known);
    }
  }

  refuse(inFlight = this.level.value, streak = 1, pauseMs = 0) {
    this.nowMs += 10;
    this.sequence += 1;
    const event = { streak, last: this.sequence, pauseMs, random: () => 0 };
    return this.level.refused(this.nowMs, inFlight, event);
  }
}

describe('Level', () => {
  test('succeeded raises only at a full level', () => {
    const search = new Search(4);
    search.succeed(50, 3);
    expect(search.level.value).toBe(4);
    search.succeed();
    expect(search.level.value).toBe(5);
  });

  test('succeeded grows in ever larger steps, by a third at most', () => {
    const search = new Search(4);
    const seen: number[] = [];
    for (let count = 0; count < 8; count += 1) {
      search.succeed();
      seen.push(search.level.value);
    }
    expect(seen).toEqual([5, 6, 8, 10, 13, 17, 22, 29]);
  });

  test('refused on trial goes back to what was proven, and that is the ceiling', () => {
    const search = new Search(9);
    search.succeed();
    expect(search.level.value).toBe(10);
    expect(search.refuse()).toBe('trialRefused');
    expect(search.level.value).toBe(9);
    expect(search.level.ceiling).toBe(10);
  });

  test('refusedAgain: each further call of the flight takes one off, to half at most', () => {
    const search = new Search(10);
    search.refuse();
    for (let count = 0; count < 20; count += 1) search.level.refusedAgain();
    expect(search.level.value).toBe(5);
  });

  test('refused at a proven level leaves room to others', () => {
    const search = new Search(20);
    expect(search.refuse()).toBe('shared');
    expect(search.level.value).toBe(17);
  });

  test('what was proven before is tried again soon, however long the refusal paused', () => {
    const search = new Search(20);
    search.refuse(20, 1, 5000);
    expect(search.level.probeAtMs - search.nowMs).toBeLessThanOrEqual(3000 * 1.3);
  });

  test('refused again without a success between halves', () => {
    const search = new Search(16);
    search.refuse(16, 1);
    expect(search.refuse(13, 2)).toBe('again');
    expect(search.level.value).toBe(6);
  });

  test('a trial at the ceiling waits for time and calls, longer after each failure', () => {
    const search = new Search(8);
    search.refuse();
    const held = search.level.value;
    search.succeed(14);
    expect(search.level.value).toBe(held);
    const gaps: number[] = [];
    for (let trial = 0; trial < 6; trial += 1) {
      const fromMs = search.nowMs;
      while (search.level.value === held) search.succeed(1);
      gaps.push(search.nowMs - fromMs);
      search.refuse();
    }
    expect(gaps[0]).toBeGreaterThanOrEqual(2800);
    expect(gaps.at(-1)!).toBeGreaterThan(gaps[0]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(9000);
  });

  test('slow calls: the first trial comes after fewer of them, the others not each minute', () => {
    const search = new Search(4);
    search.refuse();
    const held = search.level.value;
    const gaps: number[] = [];
    for (let trial = 0; trial < 6; trial += 1) {
      gaps.push(0);
      while (search.level.value === held) {
        search.nowMs += 15_000;
        search.succeed();
        gaps[trial]! += 1;
      }
      search.refuse();
    }
    expect(gaps).toEqual([8, 23, 34, 40, 40, 40]);
  });

  test('a trial at the ceiling needs several successes; then the ceiling is forgotten', () => {
    const search = new Search(8);
    search.refuse();
    const held = search.level.value;
    while (search.level.value === held) search.succeed();
    search.succeed();
    expect(search.level.isTrial).toBe(true);
    search.succeed(4);
    expect(search.level.value).toBeGreaterThan(held + 1);
    expect(search.level.ceiling).toBe(Infinity);
  });

  test('where the refusal of a trial pauses the pool, trials are rarer', () => {
    const search = new Search(8);
    search.refuse();
    while (!search.level.isTrial) search.succeed();
    search.refuse(search.level.value, 1, 1000);
    expect(search.level.probeAtMs - search.nowMs).toBeGreaterThanOrEqual(30_000);
  });

  test('where refusals pause, growth from a cut stops short of the level that was refused', () => {
    const search = new Search(20);
    search.succeed(1, 1);
    expect(search.refuse(20, 1, 1000)).toBe('shared');
    search.nowMs += 20_000;
    for (let call = 0; call < 2000; call += 1) search.succeed();
    expect([search.level.value, search.level.ceiling]).toEqual([19, 20]);
    search.nowMs += 60_000;
    for (let call = 0; call < 200; call += 1) search.succeed();
    expect(search.level.value).toBeGreaterThan(20);
  });

  test('levels that were carried and refused one below the other: back to the first', () => {
    const search = new Search(20);
    search.succeed(1, 1);
    // Before its first refusal no level counts as proven.
    search.refuse(20, 1, 1000);
    const moves = [1, 2, 3].map(() => {
      search.nowMs += 5000;
      search.succeed(90, 1);
      return [search.refuse(search.level.value, 1, 1000), search.level.value];
    });
    expect(moves).toEqual([['shared', 14], ['shared', 11], ['kept', 17]]);
    expect(search.level.ceiling).toBe(Infinity);
  });

  test('where refusals pause, few successes do not prove one more', () => {
    const proofs = (pauseMs: number) => {
      const search = new Search(8);
      search.refuse(8, 1, pauseMs);
      while (!search.level.isTrial) search.succeed();
      let calls = 0;
      while (search.level.isTrial && search.level.ceiling < Infinity) {
        search.succeed();
        calls += 1;
      }
      return calls;
    };
    expect(proofs(0)).toBeLessThan(7);
    expect(proofs(1000)).toBeGreaterThan(12);
  });

  test('started raises without proof once nothing was heard for ten minutes', () => {
    const search = new Search(8);
    search.refuse();
    const held = search.level.value;
    search.level.started(search.nowMs + 599_000, held, 1);
    expect(search.level.value).toBe(held);
    search.level.started(search.nowMs + 600_000, held, 1);
    expect(search.level.value).toBe(held + 1);
  });

  test('restoreCalm goes back to the last level that was calm for a while', () => {
    const search = new Search(12);
    search.nowMs += 10_000;
    search.succeed(1, 1);
    search.refuse();
    search.refuse(10, 2);
    expect(search.level.value).toBe(5);
    search.level.restoreCalm(search.sequence);
    expect(search.level.value).toBe(12);
    expect(search.level.ceiling).toBe(Infinity);
  });
});
