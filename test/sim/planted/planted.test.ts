/**
 * Proves that the simulator would notice: each planted fault is found within its seeds, and the
 * tree without any is clean over all of them.
 */
import { describe, expect, it } from 'vitest';
import { FAULTS } from './faults.ts';
import { edited, search } from './plant.ts';

const TIMEOUT_MS = 60_000;

describe('simulator', () => {
  it('finds nothing in the tree as it is', { timeout: TIMEOUT_MS }, async () => {
    const { said } = await search(null);
    expect(said).toMatch(/^kept/);
  });

  it.each(FAULTS)('finds: $name', { timeout: TIMEOUT_MS }, async (fault) => {
    const { said } = await search(fault);
    expect(said).toMatch(/^BROKEN/);
  });
});

describe('edited', () => {
  const edit = { file: 'a.ts', find: 'one', replace: 'two' };

  it('makes the edit', () => {
    expect(edited('is one', edit)).toBe('is two');
  });

  it('throws where the text does not stand exactly once', () => {
    expect(() => edited('nothing', edit)).toThrow('a.ts has 0 times, wanted once: one');
    expect(() => edited('one, one', edit)).toThrow('a.ts has 2 times, wanted once: one');
  });
});
