/** The simulator's command line: what is wrong with it is one line, and no run that kept all. */
import { afterEach, describe, expect, it } from 'vitest';
import { endAll, sources, start } from './process.ts';

afterEach(endAll);

const sim = (...words: string[]) =>
  start(words, {}, { program: sources('test/sim/main.ts') }).finished;

describe('npm run sim', () => {
  it.each([['--seed', '-1'], ['--seed=x'], ['--seeds', '0'], ['--turns', '0'], ['--no-such']])(
    '%s %s is refused in one line',
    async (...words) => {
      const { code, out, err } = await sim(...words);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^.*npm run sim -- \[--seed N\].*\n$/);
    },
  );

  it('--help prints how it is called', async () => {
    expect(await sim('--help')).toMatchObject({ code: 0, err: '' });
  });

  it('runs the seeds that it is told', async () => {
    const { code, out } = await sim('--seed=7', '--turns=20', '--seeds=2');
    expect(code).toBe(0);
    expect(out).toContain('kept  seed 7, 2 seed(s) of 20 turns');
  });
});
