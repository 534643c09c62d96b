import { describe, expect, test } from 'vitest';
import { Pacer } from '../../../src/core/governor/pacer.ts';
import { T0 } from './fixtures.ts';

describe('Pacer', () => {
  test('opensAtMs allows the burst at once, then a start a period', () => {
    const pacer = new Pacer(1000, 2);
    pacer.take(T0);
    expect(pacer.opensAtMs(T0, 0)).toBe(T0);
    pacer.take(T0);
    expect(pacer.opensAtMs(T0, 0)).toBe(T0 + 1000);
    expect(pacer.opensAtMs(T0, 3)).toBe(T0 + 4000);
  });

  test('opensAtMs stores no more than the burst over a long idle time', () => {
    const pacer = new Pacer(1000, 2);
    pacer.take(T0);
    const laterMs = T0 + 3_600_000;
    pacer.take(laterMs);
    pacer.take(laterMs);
    expect(pacer.opensAtMs(laterMs, 0)).toBe(laterMs + 1000);
  });

  test('take keeps fractions of a period instead of losing them to whole ms', () => {
    const pacer = new Pacer(1000 / 7, 1);
    let nowMs = T0;
    for (let count = 0; count < 700; count += 1) {
      nowMs = Math.ceil(pacer.opensAtMs(nowMs, 0));
      pacer.take(nowMs);
    }
    expect(nowMs - T0).toBeGreaterThanOrEqual(99_857);
    expect(nowMs - T0).toBeLessThanOrEqual(99_859);
  });

  test('drain leaves no burst', () => {
    const pacer = new Pacer(1000, 2);
    pacer.drain(T0, 0);
    expect(pacer.opensAtMs(T0, 0)).toBe(T0);
    pacer.take(T0);
    expect(pacer.opensAtMs(T0, 0)).toBe(T0 + 1000);
  });

  test('retime scales what is left to wait', () => {
    const pacer = new Pacer(1000, 1);
    pacer.take(T0);
    pacer.retime(T0 + 500, 100);
    expect(pacer.opensAtMs(T0 + 500, 0)).toBe(T0 + 550);
  });
});
