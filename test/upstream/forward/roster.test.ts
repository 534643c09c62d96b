import { expect, it } from 'vitest';
import { Roster } from '../../../src/upstream/forward/roster.ts';

interface Item {
  readonly name: string;
  place: number;
}

const make = (name: string): Item => ({ name, place: -1 });
const names = (roster: Roster<Item>) => [...roster].map(({ name }) => name).sort();

it('holds each item once, from when it is added until it is removed, in whatever order', () => {
  const items = ['a', 'b', 'c', 'd'].map(make);
  for (const first of items) {
    for (const second of items) {
      const roster = new Roster<Item>();
      for (const item of items) roster.add(item);
      roster.add(first);
      expect(names(roster)).toEqual(['a', 'b', 'c', 'd']);
      roster.remove(first);
      roster.remove(second);
      roster.remove(first);
      const rest = items.filter((item) => item !== first && item !== second);
      expect(names(roster)).toEqual(rest.map(({ name }) => name));
      expect(roster.size).toBe(rest.length);
      roster.add(first);
      expect(names(roster)).toEqual([...rest, first].map(({ name }) => name).sort());
      for (const item of items) roster.remove(item);
      expect([roster.size, items.map(({ place }) => place)]).toEqual([0, [-1, -1, -1, -1]]);
    }
  }
});

it('leaves out, while all are gone through, those that are removed before their turn', () => {
  const roster = new Roster<Item>();
  const [a, b, c] = ['a', 'b', 'c'].map(make) as [Item, Item, Item];
  for (const item of [a, b, c]) roster.add(item);
  const seen: string[] = [];
  for (const { name } of roster) {
    seen.push(name);
    roster.remove(a);
    roster.remove(b);
    roster.add(make('new'));
  }
  expect(seen).toEqual(['a', 'c']);
});
