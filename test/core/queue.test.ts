/**
 * The line of waiters, held against a plain list.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/core/assert.ts';
import type { Waiter } from '../../src/core/queue.ts';
import { Queue } from '../../src/core/queue.ts';
import { ask, T0 } from '../support/pools.ts';

function waiter(): Waiter {
  return {
    kind: 'waiter',
    pool: 'a',
    ask: ask(),
    joinedAtMs: T0,
    dueAtMs: Infinity,
    place: -1,
    before: null,
    after: null,
    isQueued: false,
  };
}

describe('Queue', () => {
  it('keeps the order of arrival, and loses nobody who leaves from the middle', () => {
    const queue = new Queue();
    const [one, two, three] = [waiter(), waiter(), waiter()];
    for (const each of [one, two, three]) queue.join(each);
    queue.leave(two);
    expect([...queue]).toEqual([one, three]);
    expect(queue.head).toBe(one);
    expect(two).toMatchObject({ before: null, after: null, isQueued: false });
  });

  it('lets the waiter that was just given leave during the walk', () => {
    const queue = new Queue();
    const all = [waiter(), waiter(), waiter()];
    for (const each of all) queue.join(each);
    const seen: Waiter[] = [];
    for (const each of queue) {
      seen.push(each);
      queue.leave(each);
    }
    expect(seen).toEqual(all);
    expect(queue.length).toBe(0);
    expect(queue.head).toBeNull();
  });

  it('asserts that a waiter joins once and leaves once', () => {
    const queue = new Queue();
    const one = waiter();
    expect(() => queue.leave(one)).toThrow(InvariantError);
    queue.join(one);
    expect(() => queue.join(one)).toThrow(InvariantError);
    expect(queue.length).toBe(1);
  });

  it('is a list, whoever joins and leaves', () => {
    fc.assert(fc.property(fc.array(fc.nat(7), { maxLength: 60 }), (steps) => {
      const queue = new Queue();
      const all = Array.from({ length: 8 }, waiter);
      const model: Waiter[] = [];
      for (const which of steps) {
        const one = all[which] as Waiter;
        if (one.isQueued) {
          queue.leave(one);
          model.splice(model.indexOf(one), 1);
        } else {
          queue.join(one);
          model.push(one);
        }
        expect([...queue].map((each) => all.indexOf(each)))
          .toEqual(model.map((each) => all.indexOf(each)));
        expect(queue.length).toBe(model.length);
      }
    }));
  });
});
