/** Lists of items with parameters: the standard's form, and those that are sent in its name. */
import { describe, expect, it } from 'vitest';
import { readItems, readPairs, splitList } from '../../src/upstream/items.ts';

function plain(text: string) {
  return readItems(text).map(({ value, texts, parameters }) => ({
    value,
    texts,
    parameters: Object.fromEntries(parameters),
  }));
}

describe('readItems', () => {
  it('splits items at commas and parameters at semicolons', () => {
    expect(plain('10, 10;w=1, "a";q=5 ; w=60')).toEqual([
      { value: '10', texts: [], parameters: {} },
      { value: '10', texts: [], parameters: { w: '1' } },
      { value: 'a', texts: [], parameters: { q: '5', w: '60' } },
    ]);
  });

  it('keeps commas, semicolons and quotes that stand inside quotes', () => {
    expect(plain('"a,b;c\\"d";comment="x, y", 2')).toEqual([
      { value: 'a,b;c"d', texts: [], parameters: { comment: 'x, y' } },
      { value: '2', texts: [], parameters: {} },
    ]);
  });

  it('keeps the equals signs and colons of byte sequences', () => {
    expect(plain('"a";pk=:dHJpYWwxMjEzMjM=:;r=1')[0]?.parameters).toEqual({
      pk: ':dHJpYWwxMjEzMjM=:',
      r: '1',
    });
  });

  it('takes a quoted string where a key must stand for a text of its own', () => {
    expect(plain('"fixed window";"api";q=2500')).toEqual([
      { value: 'fixed window', texts: ['api'], parameters: { q: '2500' } },
    ]);
  });

  it('gives nothing where a quote is never closed', () => {
    expect(readItems('1, "default;r=50;t=30')).toEqual([]);
    expect(readItems('"a\\')).toEqual([]);
  });

  it('leaves out empty items, and stops at 64', () => {
    expect(plain(' , ,1,;a=1,')).toEqual([{ value: '1', texts: [], parameters: {} }]);
    expect(readItems('1,'.repeat(1_000)).length).toBe(64);
  });
});

describe('readPairs', () => {
  it('reads pairs whatever divides them', () => {
    expect(Object.fromEntries(readPairs('limit=100, Remaining = 50;reset="5"; x, =1'))).toEqual({
      limit: '100',
      remaining: '50',
      reset: '5',
    });
  });
});

describe('splitList', () => {
  it('keeps dates whole', () => {
    const date = 'Thu, 01 Jan 2026 00:00:10 GMT';
    expect(splitList(`${date}, ${date}`)).toEqual([date, date]);
    const longDate = 'Thursday, 01-Jan-26 00:00:10 GMT';
    expect(splitList(`${longDate}, ${date}`)).toEqual([longDate, date]);
    expect(splitList('30, 60,')).toEqual(['30', '60']);
  });

  it('takes no other word for a weekday', () => {
    expect(splitList('soon, 7, NaN, 8, Monday')).toEqual(['soon', '7', 'NaN', '8', 'Monday']);
  });
});
