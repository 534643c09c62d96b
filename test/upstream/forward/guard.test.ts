import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Connections } from '../../../src/upstream/forward/connections.ts';
import { Guard } from '../../../src/upstream/forward/guard.ts';
import { MemoryLine } from '../../support/lines.ts';
import { WAITED_FOR } from './bench.ts';

const ORIGIN = { hostname: 'u.test', port: 80, isTls: false };
const IDLE_MS_MAX = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('looks on until idle connections are closed, also where nothing more is asked', async () => {
  const lines: MemoryLine[] = [];
  const connections = new Connections({
    dial: () => {
      const line = new MemoryLine();
      lines.push(line);
      return Promise.resolve(line);
    },
    nowMs: () => Date.now(),
  });
  const guard = new Guard(() => Date.now(), () => connections.sweep());
  const watched = { place: -1, look: vi.fn() };
  guard.add(watched);
  const dial = () => connections.dial(ORIGIN, WAITED_FOR);
  const taken = [await dial(), await dial()];
  guard.remove(watched);
  for (const connection of taken) connections.give(connection);
  vi.advanceTimersByTime(IDLE_MS_MAX);
  expect(lines.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  vi.advanceTimersByTime(200);
  expect(lines.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  expect(vi.getTimerCount(), 'and sleeps then').toBe(0);
  expect(watched.look).not.toHaveBeenCalled();
});
