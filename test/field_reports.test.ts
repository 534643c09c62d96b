/**
 * The list of field reports is whole: every number once, and each test that it names is there.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const NUMBERS = [
  ...[1, 3, 6, 7, 8, 9, 13, 15, 16, 17, 19, 22, 24, 26, 28, 29, 31, 33, 36, 37, 39, 40, 41, 43, 45],
  ...[48, 50, 52, 54, 57, 58, 60, 62, 64, 67, 68, 70, 72, 74, 76, 78, 80, 82, 85, 88, 89, 91, 93],
  ...[95, 97, 100, 102, 104, 105, 107, 109, 111, 113, 115, 118, 120, 123, 124, 126, 128, 129, 130],
  ...[133, 135, 137, 139, 142, 144, 147, 149, 151, 153, 156, 158],
];
const WORDS_MAX = 12;

const rows = readFileSync('docs/field-reports.md', 'utf8').split('\n')
  .map((line) => /^\| (\d+) \| (.*?) \| (.*) \|$/.exec(line))
  .filter((row) => row !== null)
  .map(([, number, fault = '', how = '']) => ({ number: Number(number), fault, how }));

/** The tests that a row names: a file, and a name in it. */
function testsIn(how: string): { file: string; name: string }[] {
  return [...how.matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)]
    .map(([, file = '', name = '']) => ({ file, name }));
}

describe('docs/field-reports.md', () => {
  it('has every number of the list once, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual(NUMBERS);
  });

  it('tells each fault in a few words', () => {
    const long = rows.filter(({ fault }) => fault.split(' ').length > WORDS_MAX);
    expect(long).toEqual([]);
  });

  it.each(rows.map(({ number, how }) => [number, how] as const))(
    'number %i names tests that there are, or says why there is none',
    (_, how) => {
      const named = testsIn(how);
      expect(how.split('`test/')).toHaveLength(named.length + 1);
      for (const { file, name } of named) {
        const quoted = [`'${name}'`, `"${name}"`, `'${name.replaceAll("'", "\\'")}'`];
        const source = readFileSync(file, 'utf8');
        expect(quoted.some((text) => source.includes(text)), `${file}: ${name}`).toBe(true);
      }
      const isTold = /^(comes with the admin page|by design )/.test(how);
      expect(named.length > 0 || isTold).toBe(true);
    },
  );
});
