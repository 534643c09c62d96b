/** Reloads: one at a time, none for nothing, and one after the last signal in any case. */
import { expect, it } from 'vitest';
import { Reloads } from '../../src/cli/reloads.ts';

/** Reloads that end when the test says so, and how many were begun. */
function table() {
  const reloads = new Reloads();
  const ends: (() => void)[] = [];
  const begin = () => reloads.begin(() => new Promise((end) => ends.push(end)));
  const end = async () => {
    ends.at(-1)?.();
    await Promise.resolve();
  };
  return { reloads, begin, end, begun: () => ends.length };
}

it('are kept while the server starts, as one', () => {
  const { reloads, begin, begun } = table();
  reloads.ask();
  reloads.ask();
  begin();
  expect(begun()).toBe(1);
});

it('are made for signals alone', async () => {
  const { reloads, begin, end, begun } = table();
  begin();
  expect(begun()).toBe(0);
  reloads.ask();
  await end();
  expect(begun()).toBe(1);
  reloads.ask();
  expect(begun()).toBe(2);
});

it('follow one another: a signal during one asks for another once it has ended', async () => {
  const { reloads, begin, end, begun } = table();
  begin();
  reloads.ask();
  reloads.ask();
  reloads.ask();
  expect(begun()).toBe(1);
  await end();
  expect(begun()).toBe(2);
  await end();
  expect(begun()).toBe(2);
});
