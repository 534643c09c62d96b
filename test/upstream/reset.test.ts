/** Waits from numbers, durations and dates: the rules by magnitude, and what is no wait at all. */
import { describe, expect, it } from 'vitest';
import { readDecimal, readReset, readWindowMs, type TimeUnit } from '../../src/upstream/reset.ts';

/** Thursday, 2026-01-01T00:00:00Z. */
const NOW_MS = 1_767_225_600_000;

function wait(value: string, unit: TimeUnit = 'auto'): number | undefined {
  return readReset(value, NOW_MS, unit);
}

describe('readReset', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['-3', 0],
    ['+7', 7_000],
    ['1.1', 1_100],
    ['0.001', 1],
    ['33011.382867', 33_011_383],
    ['1767225630', 30_000],
    ['1767225630.125', 30_125],
    ['1767225630.0001', 30_001],
    ['1767225630000', 30_000],
    ['1767225630000000', 30_000],
    ['1767225630000000000', 30_000],
    ['1767225607777001', 7_778],
    ['1767225607777.001', 7_778],
    ['1767225607777000', 7_777],
    ['1767225599', 0],
    ['1767225600', 0],
    ['1767225600001', 1],
    ['1767225600000001', 1],
    ['1767225601000000000', 1_000],
    ['1000000000', 0],
    ['100000000000', 0],
    ['100000000000000', 0],
    ['100000000000000000', 0],
    ['-99999999999', 0],
  ])('reads the number %s by its magnitude', (value, ms) => {
    expect(wait(value)).toBe(ms);
  });

  it('reads a bare number as ms or minutes where its name or a hint says so', () => {
    expect(wait('600000', 'ms')).toBe(600_000);
    expect(wait('1250.5', 'ms')).toBe(1_251);
    expect(wait('1767225630000', 'ms')).toBe(30_000);
    expect(wait('19', 'min')).toBe(1_140_000);
  });

  it.each([
    ['1s', 1_000],
    ['6m0s', 360_000],
    ['17ms', 17],
    ['8.64s', 8_640],
    ['2m59.56s', 179_560],
    ['23h47m36.648s', 85_656_648],
    ['1d2h', 93_600_000],
    ['1w', 604_800_000],
    ['812.5us', 1],
    ['812.5\u00b5s', 1],
    ['812.5\u03bcs', 1],
    ['812.5\u00c2\u00b5s', 1],
    ['812.5\u00ce\u00bcs', 1],
    ['500ns', 1],
    ['-5s', 0],
    ['0s', 0],
  ])('reads the duration %s', (value, ms) => {
    expect(wait(value)).toBe(ms);
  });

  it.each([
    'Thu, 01 Jan 2026 00:00:30 GMT',
    'Thursday, 01-Jan-26 00:00:30 GMT',
    'Thu Jan  1 00:00:30 2026',
    'Thu, 01 Jan 2026 01:00:30 +0100',
    'Thu Jan 01 2026 01:00:30 GMT+0100 (Central European Standard Time)',
    '2026-01-01T00:00:30Z',
    '2026-01-01T00:00:30.000Z',
    '2026-01-01T00:00:30',
    '2026-01-01 00:00:30',
    '2026-01-01 00:00:30 UTC',
    '2026-01-01 00:00:30 +0000 UTC',
    '2026-01-01T02:00:30+02:00',
    '2025-12-31T19:00:30-0500',
    '2026-01-01 01:00:30+01',
  ])('reads the date %s, as UTC where it has no zone', (value) => {
    expect(wait(value)).toBe(30_000);
  });

  it('reads a date without seconds, and rounds a fraction up', () => {
    expect(wait('2026-01-01T00:01Z')).toBe(60_000);
    expect(wait('2026-01-01T00:00:00.0001Z')).toBe(1);
  });

  it('takes a date of the past for no wait, also one with two digits of the last century', () => {
    expect(wait('2020-05-18T20:19:00.000Z')).toBe(0);
    expect(wait('Sunday, 06-Nov-94 08:49:37 GMT')).toBe(0);
  });

  it('drops a window that is longer than 400 days', () => {
    expect(readWindowMs('34560000', 'auto')).toBe(34_560_000_000);
    expect(readWindowMs('34560001', 'auto')).toBeUndefined();
    expect(readWindowMs('401d', 'auto')).toBeUndefined();
  });

  it('drops what lies more than 400 days ahead', () => {
    expect(wait('34560000')).toBe(34_560_000_000);
    expect(wait('34560001')).toBeUndefined();
    expect(wait('34560000.5')).toBeUndefined();
    expect(wait('34560000000', 'ms')).toBe(34_560_000_000);
    expect(wait('34560000001', 'ms')).toBeUndefined();
    expect(wait('100000000000', 'ms')).toBeUndefined();
    expect(wait('999999999999', 'ms')).toBeUndefined();
    expect(wait('1801785600')).toBe(34_560_000_000);
    expect(wait('1801785601')).toBeUndefined();
    expect(wait('9600h')).toBe(34_560_000_000);
    expect(wait('9600h1ms')).toBeUndefined();
    expect(wait('2027-02-05T00:00:00Z')).toBe(34_560_000_000);
    expect(wait('2027-02-05T00:00:01Z')).toBeUndefined();
    expect(wait('999999999')).toBeUndefined();
    expect(wait('99999999999999999999999')).toBeUndefined();
    expect(wait('9'.repeat(400))).toBeUndefined();
    expect(wait('2028-01-01T00:00:00Z')).toBeUndefined();
    expect(wait('10000h')).toBeUndefined();
  });

  it.each([
    '',
    'soon',
    '1e3',
    '0x10',
    'Infinity',
    'NaN',
    '1,5',
    '.5',
    '5.',
    '1 s',
    '1s soon',
    '100, 100',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    'Thu, 32 Jan 2026 00:00:30 GMT',
    'Thu, 01 Foo 2026 00:00:30 GMT',
    'Thu Jan  1 00:00:30',
  ])('finds no time in "%s"', (value) => {
    expect(wait(value)).toBeUndefined();
  });
});

describe('readDecimal', () => {
  it('reads plain decimals only, and never -0', () => {
    expect(readDecimal('0.04512')).toBe(0.04512);
    expect(Object.is(readDecimal('-0'), 0)).toBe(true);
    for (const text of ['', ' 1', '1 ', '1.', '1e3', '--1', '1,000', '٣']) {
      expect(readDecimal(text), text).toBeUndefined();
    }
  });
});

describe('readWindowMs', () => {
  it('reads words, durations, and numbers of seconds or of the named unit', () => {
    expect(readWindowMs('Minute', 'auto')).toBe(60_000);
    expect(readWindowMs('600s', 'auto')).toBe(600_000);
    expect(readWindowMs('60', 'auto')).toBe(60_000);
    expect(readWindowMs('10000', 'ms')).toBe(10_000);
    expect(readWindowMs('300', 'min')).toBe(18_000_000);
  });

  it('knows no length of a month, nor of what is none', () => {
    for (const text of ['month', 'constructor', '0', '-1', '', 'abc', '9'.repeat(90)]) {
      expect(readWindowMs(text, 'auto'), text).toBeUndefined();
    }
  });
});
