/** What a governor learned goes through its stored text; of junk nothing comes back, or little. */
import { describe, expect, it } from 'vitest';
import type { Saved } from '../../src/core/governor/governor.ts';
import { savedOf, shifted } from '../../src/scheduler/saved.ts';
import { T0 } from '../support/pools.ts';

const OLD = { atMs: T0, level: 8, perSecond: 2, cycleMs: 60_000, pausedUntilMs: T0 + 5000 };
const WINDOW = {
  unit: 'starts',
  key: null,
  limit: 60,
  remaining: 0,
  resetAtMs: T0 + 3_000_000,
  windowMs: 3_600_000,
} as const;
const FULL: Saved = {
  ...OLD,
  trialPerSecond: 2.2,
  tokens: [[T0 - 5, 100]],
  starts: [[T0 - 30_000, 2], [T0 - 5, 1]],
  windows: [WINDOW, { ...WINDOW, unit: 'tokens', key: 'tokens day 86400000 ' }],
  distrustedUntilMs: T0 + 600_000,
  refusals: [[T0 - 300_000, 3]],
};

describe('savedOf', () => {
  it('gives back what was saved', () => {
    expect(savedOf(JSON.stringify(FULL))).toEqual(FULL);
  });

  it('keeps a reset that was told with a fraction of a ms', () => {
    const row = { ...OLD, windows: [{ ...WINDOW, resetAtMs: T0 + 0.5 }] };
    expect(savedOf(JSON.stringify(row))).toEqual(row);
  });

  it('reads the rows of programs that saved less', () => {
    expect(savedOf(JSON.stringify(OLD))).toEqual(OLD);
    expect(savedOf(JSON.stringify({ ...OLD, perSecond: null, pausedUntilMs: null, more: 1 })))
      .toEqual({ ...OLD, perSecond: null, pausedUntilMs: null });
  });

  it('gives back that no level was learned', () => {
    expect(savedOf(JSON.stringify({ ...OLD, level: null }))).toEqual({ ...OLD, level: null });
  });

  it.each(['', '{', 'null', '7', '[]', '{}', '{"atMs":1,"level":"x"}', '{"atMs":-1,"level":3}'])(
    'makes nothing of %j',
    (text) => expect(savedOf(text)).toBeNull(),
  );

  it('keeps that nothing was started apart from that nothing is known of it', () => {
    expect(savedOf(JSON.stringify({ ...OLD, starts: [] }))).toEqual({ ...OLD, starts: [] });
    expect(savedOf(JSON.stringify({ ...OLD, starts: 5 }))).toEqual(OLD);
    expect(savedOf(JSON.stringify({ ...OLD, starts: [[T0, 1], [T0 - 9, 2]] }))?.starts)
      .toEqual([[T0 - 9, 2], [T0, 1]]);
  });

  it('leaves out each part that makes no sense, and keeps the rest', () => {
    const broken = [
      null,
      7,
      { ...WINDOW, unit: 'cows' },
      { ...WINDOW, key: 7 },
      { ...WINDOW, limit: 0 },
      { ...WINDOW, limit: '60' },
      { ...WINDOW, remaining: -1 },
      { ...WINDOW, resetAtMs: 1e300 },
      { ...WINDOW, resetAtMs: null },
      { ...WINDOW, windowMs: 1e13 },
    ];
    const row = {
      ...OLD,
      perSecond: -1,
      cycleMs: 1e300,
      trialPerSecond: 0,
      pausedUntilMs: 'soon',
      tokens: 'many',
      windows: [...broken, WINDOW],
      distrustedUntilMs: 1e300,
      refusals: [[T0], [1e300, 1], 'x', [T0, 2]],
    };
    expect(savedOf(JSON.stringify(row))).toEqual({
      ...OLD,
      perSecond: null,
      cycleMs: 0,
      pausedUntilMs: null,
      windows: [WINDOW],
      refusals: [[T0, 2]],
    });
  });
});

describe('shifted', () => {
  it('moves every instant by the same, and nothing else', () => {
    const there = shifted(FULL, 3_600_000);
    expect(there).not.toEqual(FULL);
    expect(there.windows?.[1]).toEqual({
      ...FULL.windows?.[1],
      resetAtMs: WINDOW.resetAtMs + 3_600_000,
    });
    expect(shifted(there, -3_600_000)).toEqual(FULL);
    expect(shifted(OLD, 1000)).toEqual({ ...OLD, atMs: T0 + 1000, pausedUntilMs: T0 + 6000 });
  });
});
