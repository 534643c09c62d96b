/**
 * Coarse deadlines: never early, late by a second at the most, and one timer for all of them.
 */
import { describe, expect, it } from 'vitest';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { ManualClock } from '../support/manual_clock.ts';

describe('Deadlines.race', () => {
  it('gives the value that comes in time', async () => {
    const clock = new ManualClock();
    const value = new Deadlines(clock).race(Promise.resolve(7), 100, 'late');
    await clock.pass(5000);
    expect(await value).toBe(7);
    expect(clock.armed).toBe(0);
  });

  it('passes on a failure that comes in time', async () => {
    const clock = new ManualClock();
    const value = new Deadlines(clock).race(Promise.reject(new Error('no')), 100, 'late');
    await expect(value).rejects.toThrow('no');
  });

  it('says late between the limit and a second after it', async () => {
    const clock = new ManualClock();
    let said: string | null = null;
    const never = new Promise<string>(() => {});
    void new Deadlines(clock).race(never, 1500, 'late').then((value) => said = value);
    await clock.pass(1499);
    expect(said).toBeNull();
    await clock.pass(1001);
    expect(said).toBe('late');
  });

  it('keeps one timer for all, and none where nothing is open', async () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(clock);
    const never = new Promise<string>(() => {});
    const all = Array.from({ length: 50 }, () => deadlines.race(never, 500, 'late'));
    expect(clock.armed).toBe(1);
    await clock.pass(3000);
    expect(await Promise.all(all)).toEqual(Array(50).fill('late'));
    expect(clock.armed).toBe(0);
  });

  it('close leaves no timer', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(clock);
    void deadlines.race(new Promise<string>(() => {}), 500, 'late');
    deadlines.close();
    expect(clock.armed).toBe(0);
  });
});
