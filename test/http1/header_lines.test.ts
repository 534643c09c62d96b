import { describe, expect, it } from 'vitest';
import { HeaderLines } from '../../src/http1/header_lines.ts';

const LINES = [
  ['Host', 'a.test'],
  ['X-A', '1'],
  ['Cookie', 'a=1'],
  ['x-a', ''],
  ['COOKIE', 'b=2'],
  ['X-a', '3, 4'],
] as const;

describe('header lines', () => {
  it('are found by their name in any case, repeated ones joined', () => {
    const lines = new HeaderLines(LINES);
    expect(lines.get('host')).toBe('a.test');
    expect(lines.get('x-a')).toBe('1, , 3, 4');
    expect(lines.get('cookie')).toBe('a=1; b=2');
    expect(new HeaderLines([['A', '']]).get('a')).toBe('');
    const repeated = ['x-a', 'cookie', 'host', 'x'].filter((name) => lines.isRepeated(name));
    expect(repeated).toEqual(['x-a', 'cookie']);
  });

  it('are not found by what is no name of theirs', () => {
    const lines = new HeaderLines(LINES);
    for (const name of ['x', 'x-', 'x-ab', '', 'constructor', '__proto__']) {
      expect(lines.get(name), name).toBe(null);
    }
    expect(new HeaderLines([]).get('host')).toBe(null);
  });

  it('are read as lists of words over all lines of a name, and of no other', () => {
    const lines = new HeaderLines([['A', 'x, Y'], ['ab', 'no'], ['a', ' z ,'], ['e', '']]);
    expect(lines.words('a')).toEqual(['x', 'y', 'z', '']);
    expect(lines.words('e')).toEqual(['']);
    expect(lines.words('c')).toEqual([]);
  });

  it('are visited and listed in their order, as they came', () => {
    const lines = new HeaderLines(LINES);
    const visited: string[][] = [];
    lines.forEach((value, name, asCame) => void visited.push([asCame, name, value]));
    expect(visited).toEqual(LINES.map(([name, value]) => [name, name.toLowerCase(), value]));
    expect([...lines]).toEqual(LINES);
  });
});
