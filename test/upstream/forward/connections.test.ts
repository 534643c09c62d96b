import { describe, expect, it, vi } from 'vitest';
import { MemoryLine } from '../../support/lines.ts';
import { bench, HEAD, ORIGIN, WAITED_FOR } from './bench.ts';

const IDLE_PER_ORIGIN_MAX = 512;

/** A bench on which one request was answered so, its connection idle now. */
async function answered(lines = '') {
  const parts = bench(() => new MemoryLine().gives(`HTTP/1.1 204 X\r\n${lines}\r\n`));
  await parts.exchange().answer();
  expect(parts.lines.map(({ isClosed }) => isClosed)).toEqual([false]);
  return parts;
}

describe('an idle connection', () => {
  it.each([
    ['', 30_000],
    ['keep-alive: timeout=5\r\n', 4_000],
    ['keep-alive: max=9, timeout=5\r\n', 4_000],
    ['keep-alive: timeout=600\r\n', 30_000],
    ['keep-alive: timeout=soon\r\n', 30_000],
  ])('of an upstream that says %j is used for less than so many ms: %i', async (text, idleMs) => {
    for (const [ms, isUsed] of [[idleMs - 1, true], [idleMs, false]] as const) {
      const { lines, clock, connections } = await answered(text);
      clock.nowMs += ms;
      expect(await connections.takeIdle(ORIGIN) !== null).toBe(isUsed);
      expect(lines[0]?.isClosed).toBe(!isUsed);
    }
  });

  it('carries no request that was ended in the moment in which it took it', async () => {
    const { lines, exchange, dial } = await answered();
    const wasCut = vi.fn();
    const one = exchange({ wasCut });
    const answer = one.answer();
    one.abort('gone');
    await expect(answer).rejects.toMatchObject({ cut: 'gone' });
    expect(lines[0]).toMatchObject({ sent: HEAD, isClosed: true });
    expect([dial.mock.calls.length, wasCut.mock.calls]).toEqual([1, [['gone']]]);
  });

  it('is closed where there are too many to one upstream: that idle longest', async () => {
    const { lines, connections } = bench();
    const all = [];
    for (let count = 0; count <= IDLE_PER_ORIGIN_MAX; count++) {
      all.push(await connections.dial(ORIGIN, WAITED_FOR));
    }
    for (const one of all) connections.give(one);
    expect(lines.flatMap(({ isClosed }, at) => isClosed ? [at] : [])).toEqual([0]);
    expect(await connections.takeIdle(ORIGIN)).toBe(all.at(-1));
  });
});
