import { expect, test } from 'vitest';
import { Unsaved } from '../../src/store/unsaved.ts';

const saved = async (unsaved: Unsaved<number>): Promise<[string, number][]> => {
  let all: [string, number][] = [];
  await unsaved.save((values) => {
    all = [...values];
    return Promise.resolve();
  });
  return all;
};

test('what was written is not written again, and nothing is written for nothing', async () => {
  const unsaved = new Unsaved<number>();
  unsaved.set('a', 1);
  unsaved.set('b', 2);
  unsaved.delete('b');
  expect(await saved(unsaved)).toEqual([['a', 1]]);
  await unsaved.save(() => Promise.reject(new Error('there was nothing to write')));
});

test('what the store did not take is written by the next call', async () => {
  const unsaved = new Unsaved<number>();
  unsaved.set('a', 1);
  await expect(unsaved.save(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  unsaved.set('b', 2);
  expect(await saved(unsaved)).toEqual([['a', 1], ['b', 2]]);
});

test('what takes the place of another during a write is still to be written', async () => {
  const unsaved = new Unsaved<number>();
  unsaved.set('a', 1);
  unsaved.set('b', 2);
  await unsaved.save(() => {
    unsaved.set('a', 3);
    return Promise.resolve();
  });
  expect(await saved(unsaved)).toEqual([['a', 3]]);
});
