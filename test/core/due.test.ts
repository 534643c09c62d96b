/**
 * The due heap, held against a sorted array.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Timed } from '../../src/core/due.ts';
import { Due } from '../../src/core/due.ts';

const item = (): Timed => ({ dueAtMs: 0, place: -1 });

describe('Due', () => {
  it('has nothing due at first', () => {
    const due = new Due();
    expect(due.nextAtMs).toBe(Infinity);
    expect(due.take(Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });

  it('take gives an item at its instant, and not a ms before', () => {
    const due = new Due();
    const one = item();
    due.set(one, 10);
    expect(due.take(9)).toBeUndefined();
    expect(due.take(10)).toBe(one);
    expect(due.size).toBe(0);
    expect(one.place).toBe(-1);
  });

  it('set moves an item that is in, and Infinity takes it out', () => {
    const due = new Due();
    const [one, other] = [item(), item()];
    due.set(one, 10);
    due.set(other, 20);
    due.set(one, 30);
    expect(due.nextAtMs).toBe(20);
    due.set(other, Infinity);
    expect(due.nextAtMs).toBe(30);
    expect(due.size).toBe(1);
  });

  it('remove does nothing with what is not in', () => {
    const due = new Due();
    due.set(item(), 10);
    due.remove(item());
    expect(due.size).toBe(1);
  });

  it('is a sorted array, whatever is set, moved and removed', () => {
    const step = fc.record({
      what: fc.constantFrom('set', 'remove', 'take'),
      which: fc.nat(9),
      atMs: fc.oneof(fc.nat(20), fc.constant(Infinity)),
    });
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const due = new Due<Timed>();
      const items = Array.from({ length: 10 }, item);
      let model: { one: Timed; atMs: number }[] = [];
      for (const { what, which, atMs } of steps) {
        const one = items[which] as Timed;
        if (what === 'take') {
          const taken = due.take(atMs);
          const first = model.toSorted((a, b) => a.atMs - b.atMs)[0];
          const wanted = first !== undefined && first.atMs <= atMs ? first.atMs : undefined;
          expect(taken?.dueAtMs).toBe(wanted);
          model = model.filter((row) => row.one !== taken);
        } else {
          if (what === 'set') due.set(one, atMs);
          else due.remove(one);
          model = model.filter((row) => row.one !== one);
          if (what === 'set' && atMs !== Infinity) model.push({ one, atMs });
        }
        expect(due.size).toBe(model.length);
        expect(due.nextAtMs).toBe(Math.min(Infinity, ...model.map((row) => row.atMs)));
      }
      const rest = Array.from({ length: due.size }, () => due.take(Infinity)?.dueAtMs);
      expect(rest).toEqual(model.map((row) => row.atMs).sort((a, b) => a - b));
      expect(items.every(({ place }) => place === -1)).toBe(true);
    }));
  });
});
