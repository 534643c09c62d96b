import { describe, expect, test } from 'vitest';
import { Gradient, type Strain } from '../../../src/core/governor/gradient.ts';
import { T0 } from './fixtures.ts';

/** Feeds windows of answers that take `ms(level)`; the level follows what the gradient asks. */
function feed(gradient: Gradient, ms: (level: number) => number, options: {
  readonly level: number;
  readonly windows: number;
  readonly fromMs?: number;
}) {
  let { level } = options;
  let nowMs = options.fromMs ?? T0;
  const strains: Strain[] = [];
  for (let answer = 0; answer < options.windows * 50; answer += 1) {
    nowMs += 21;
    const strain = gradient.sample(nowMs, ms(level), level);
    if (strain.kind === 'none') continue;
    strains.push(strain);
    level = strain.level;
  }
  return { level, nowMs, strains };
}

describe('Gradient', () => {
  test('steady answers let the level grow, once a window', () => {
    const gradient = new Gradient();
    const { strains } = feed(gradient, () => 200, { level: 10, windows: 5 });
    expect(strains).toEqual([]);
    expect(gradient.mayGrow).toBe(true);
    gradient.grew();
    expect([gradient.mayGrow, gradient.isSlow]).toEqual([false, false]);
  });

  test('without proxied calls it holds nothing', () => {
    const gradient = new Gradient();
    gradient.grew();
    expect(gradient.mayGrow).toBe(true);
  });

  test('answers that slow down with the level lower it, and that is all', () => {
    const gradient = new Gradient();
    const { nowMs } = feed(gradient, () => 200, { level: 10, windows: 3 });
    const knee = (level: number) => 200 * Math.max(1, level / 20);
    const { level, strains } = feed(gradient, knee, { level: 40, windows: 20, fromMs: nowMs });
    expect(strains.every((strain) => strain.kind === 'slow')).toBe(true);
    expect(level).toBeGreaterThanOrEqual(15);
    expect(level).toBeLessThanOrEqual(23);
  });

  test('slowness that a lower level does not cure becomes the new normal', () => {
    const gradient = new Gradient();
    const { nowMs } = feed(gradient, () => 200, { level: 20, windows: 5 });
    const { level, strains } = feed(gradient, () => 500, { level: 20, windows: 20, fromMs: nowMs });
    expect(strains.at(-1)?.kind).toBe('ownSlowness');
    expect(level).toBe(20);
    expect(gradient.mayGrow).toBe(true);
  });

  test('answers that take no whole ms are all the same', () => {
    const { level, strains } = feed(new Gradient(), () => 0, { level: 20, windows: 5 });
    expect([level, strains]).toEqual([20, []]);
  });

  test('one very slow answer is clipped', () => {
    const gradient = new Gradient();
    const { nowMs } = feed(gradient, () => 200, { level: 20, windows: 3 });
    expect(gradient.sample(nowMs + 21, 3_600_000, 20).kind).toBe('none');
    const { strains } = feed(gradient, () => 200, { level: 20, windows: 3, fromMs: nowMs + 21 });
    expect(strains).toEqual([]);
  });
});
