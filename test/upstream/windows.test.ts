/** Several windows in one header: lists, repeated lines, and several items of one policy. */
import { describe, expect, it } from 'vitest';
import type { RateReading } from '../../src/core/outcome.ts';
import { type HeaderSource, readRates } from '../../src/upstream/reader.ts';

function read(headers: HeaderSource): RateReading {
  return readRates(headers, { nowMs: 1_767_225_600_000 });
}

const LIMIT = { 'X-RateLimit-Limit': '9', 'X-RateLimit-Remaining': '5' };

describe('readRates takes a header that came twice', () => {
  const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;
  const readLists = (...values: readonly string[]) =>
    read(Object.fromEntries(values.map((value, at) => [names[at], value])));

  it('to hold for all windows beside it, if it says the same twice or was not repeated', () => {
    expect(readLists('100, 100', '42, 40', '30')).toMatchObject({
      limit: 100,
      remaining: 40,
      resetMs: 30_000,
    });
    expect(readLists('5000, 60', '4990, 3', '12')).toMatchObject({ limit: 60, resetMs: 12_000 });
    expect(readLists('1, 2000', '0', '1, 100')).toMatchObject({ remaining: 0, resetMs: 100_000 });
  });

  it('for the longest reset, if no other did', () => {
    const expected = { limit: 100, remaining: 42, resetMs: 60_000 };
    expect(readLists('100', '42', '30, 60')).toEqual(expected);
    expect(readLists('100', '42', '60, soon, 30')).toEqual(expected);
  });

  it('for the line of it that is a number', () => {
    expect(readLists('many, 100', '42', 'soon, 30')).toEqual({
      limit: 100,
      remaining: 42,
      resetMs: 30_000,
    });
  });

  it('for no count at all, if its numbers differ and no other did', () => {
    expect(readLists('100, 200', '42', '30')).toEqual({ remaining: 42, resetMs: 30_000 });
    expect(readLists('1,500', '42', '30')).toEqual({ remaining: 42, resetMs: 30_000 });
  });
});

describe('readRates takes for one what is repeated as it was', () => {
  it.each<[string, Record<string, string>]>([
    ['uses', { 'X-Shopify-Shop-Api-Call-Limit': '39/40' }],
    ['JSON', { 'X-App-Usage': '{"call_count":28,"total_time":25}' }],
    ['percents', { 'x-codex-primary-used-percent': '12.5', 'x-codex-primary-reset-at': '3' }],
    ['a limit without a suffix', { 'X-Rate-Limit': '700', 'X-Rate-Limit-Remaining': '699' }],
    ['a scope and a window', { ...LIMIT, 'X-RateLimit-Scope': 'user', 'X-RateLimit-Window': '60' }],
    ['a policy', { 'RateLimit': 'limit=9, remaining=5', 'RateLimit-Policy': '9;w=60' }],
    ['policies of a limit', { 'RateLimit-Limit': '9, 9;w=1, 50;w=60', 'RateLimit-Remaining': '5' }],
    ['a named policy', { 'RateLimit-Policy': '"burst";q=100;w=60' }],
    ['a date', { 'X-RateLimit-Reset': '1767225670', 'Date': 'Thu, 01 Jan 2026 00:01:00 GMT' }],
  ])('%s', (_, headers) => {
    const once = read(headers);
    expect(Object.keys(once)).not.toEqual([]);
    const twice = Object.entries(headers).map(([name, value]) => [name, [value, value]]);
    expect(read(Object.fromEntries(twice))).toEqual(once);
  });
});

describe('readRates takes each item of one policy for a window', () => {
  const policy = '"d";q=100;w=60';

  it('of which the exhausted one binds, wherever it stands', () => {
    const items = ['"d";r=50;t=30;pk=:YQ==:', '"d";r=0;t=10;pk=:Yg==:'];
    for (const state of [items, items.toReversed(), [items.join(', ')]]) {
      expect(read({ 'RateLimit-Policy': policy, 'RateLimit': state })).toMatchObject({
        limit: 100,
        remaining: 0,
        resetMs: 10_000,
        windowMs: 60_000,
        scope: 'd',
      });
    }
  });

  it('also without a partition key, and lists both', () => {
    expect(read({ 'RateLimit': '"d";r=5, "d";r=2' })).toEqual({
      remaining: 2,
      scope: 'd',
      windows: [{ name: 'd', remaining: 5 }, { name: 'd', remaining: 2 }],
    });
  });

  it('and joins it with the policy of its partition', () => {
    const policies = ['"d";q=100;w=60;pk=:YQ==:', '"d";q=20;w=30;pk=:Yg==:'];
    const states = ['"d";r=50;t=30;pk=:YQ==:', '"d";r=1;t=10;pk=:Yg==:'];
    const expected = { limit: 20, remaining: 1, resetMs: 10_000, windowMs: 30_000, scope: 'd' };
    for (const policy of [policies, policies.toReversed()]) {
      expect(read({ 'RateLimit-Policy': policy, 'RateLimit': states })).toMatchObject(expected);
    }
  });

  it('but not one that is repeated as it was', () => {
    const item = '"d";r=5;t=7';
    expect(read({ 'RateLimit-Policy': policy, 'RateLimit': [item, item] })).toEqual(
      read({ 'RateLimit-Policy': policy, 'RateLimit': item }),
    );
  });
});

describe('readRates takes no window for requests', () => {
  it.each(['tokens', 'constructor'])('whose policy counts %s', (unit) => {
    const policy = `"a";q=10;w=60;qu="${unit}"`;
    expect(read({ 'RateLimit': '"a";r=0;t=30', 'RateLimit-Policy': policy })).toEqual({});
    expect(read({
      'RateLimit': '"a";r=0;t=30, "b";r=9;t=3',
      'RateLimit-Policy': [policy, '"b";q=10;w=5'],
    })).toEqual({ limit: 10, remaining: 9, resetMs: 3_000, windowMs: 5_000, scope: 'b' });
  });

  it('that has a limit of 0 beside one that has a limit', () => {
    const month = {
      'X-RateLimit-Limit': '50, 0',
      'X-RateLimit-Policy': '50;w=1, 0;w=2678400',
      'X-RateLimit-Remaining': '49, 0',
      'X-RateLimit-Reset': '1, 2466201',
    };
    const second = { limit: 50, resetMs: 1_000, windowMs: 1_000 };
    expect(read(month)).toEqual({ ...second, remaining: 49 });
    expect(read({ ...month, 'X-RateLimit-Remaining': '0, 0' })).toEqual({
      ...second,
      remaining: 0,
    });
    expect(read({ 'X-RateLimit-Limit': '0, 0', 'X-RateLimit-Remaining': '5, 0' })).toMatchObject({
      remaining: 0,
    });
  });
});
