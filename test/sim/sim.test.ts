/**
 * The simulator as part of the tests: fixed seeds, so that a change is judged on the same storms,
 * and a fresh one each time, which is printed so that it can be run again.
 */
import { describe, expect, it } from 'vitest';
import { simulate } from './simulation.ts';

/** So long that each of the fixed storms exercises all of it. */
const TURNS = 1800;
const FIXED = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** What a storm must have exercised to count as one. */
const EXERCISED = [
  'fault: crash',
  'fault: store down for a while',
  'fault: store locked by another process',
  'fault: wall clock set back',
  'fault: wall clock set forward',
  'fault: write in doubt',
  'grants after a wait',
  'hang-ups in the queue',
  'leases reclaimed at their deadline',
  'operator: delete',
  'releases of what was gone',
  'repeats that were told of a grant',
];

describe('simulate', () => {
  it.each(FIXED)('finds no broken promise with seed %i', async (seed) => {
    const { tally } = await simulate(seed, TURNS);
    expect(EXERCISED.filter((name) => tally.of(name) === 0)).toEqual([]);
  });

  it('finds no broken promise with a fresh seed', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    console.log(`fresh seed: npm run sim -- --seed ${seed} --turns ${TURNS}`);
    const { events } = await simulate(seed, TURNS);
    expect(events).toBeGreaterThan(TURNS);
  });

  it('does the same again with the same seed', async () => {
    const once = await simulate(7, 300);
    const again = await simulate(7, 300);
    expect(again.tally.lines()).toEqual(once.tally.lines());
    expect(again.events).toBe(once.events);
  });
});
