import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from '../../../src/http1/connection.ts';
import type { Limits } from '../../../src/upstream/forward/exchange.ts';
import { Guard } from '../../../src/upstream/forward/guard.ts';
import { Tunnel } from '../../../src/upstream/forward/tunnel.ts';
import { MemoryLine } from '../../support/lines.ts';
import { LIMITS } from './bench.ts';

const END_WAIT_MS = 1_000;
const SWEEP_MS = 100;
const SWITCHED = 'HTTP/1.1 101 X\r\nx: \xe9\r\n\r\n';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

/** A tunnel that carries; the guard's clock is the faked one, and the head is sent if it can be. */
async function carrying(
  limits: Partial<Limits> = {},
  { caller = new MemoryLine(), askedMs = 0 } = {},
) {
  const upstream = new MemoryLine();
  const nowMs = () => Date.now();
  const guard = new Guard(nowMs);
  const startedAtMs = nowMs() - askedMs;
  const options = { guard, nowMs, limits: { ...LIMITS, ...limits }, startedAtMs };
  const tunnel = new Tunnel(new Connection(upstream), options);
  const all = { caller, upstream, tunnel, isOver: false };
  void tunnel.carry(new Connection(caller), SWITCHED).then(() => all.isOver = true);
  await pass();
  expect(caller.sent).toBe(SWITCHED.slice(0, caller.bytesMax));
  caller.sent = '';
  return all;
}

describe('a tunnel', () => {
  it('carries bytes both ways, and counts them', async () => {
    const { caller, upstream, tunnel } = await carrying();
    caller.gives('hello', ' you');
    upstream.gives('\0\xff');
    await pass();
    expect([upstream.sent, caller.sent]).toEqual(['hello you', '\0\xff']);
    expect([tunnel.bytesIn, tunnel.bytesOut]).toEqual([9, 2]);
    expect([upstream.closes, caller.closes]).toEqual([0, 0]);
  });

  it.each(['caller', 'upstream'] as const)(
    'carries the end of the %s, and what the other still says',
    async (side) => {
      const all = await carrying();
      const other = side === 'caller' ? 'upstream' : 'caller';
      all[side].gives('last').ends();
      await pass();
      expect([all[other].sent, all[other].isWriteClosed, all[other].closes]).toEqual([
        'last',
        true,
        0,
      ]);
      expect([all[side].isWriteClosed, all[side].closes]).toEqual([false, 0]);
      await pass(END_WAIT_MS / 2);
      all[other].gives('late').ends();
      await pass();
      expect(all[side].sent).toBe('late');
      expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
      expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
      await pass(2 * SWEEP_MS);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it.each(['caller', 'upstream'] as const)(
    'waits not for long when the %s has ended',
    async (side) => {
      const all = await carrying();
      all[side].ends();
      await pass(END_WAIT_MS - 1);
      expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([0, 0, false]);
      await pass(1);
      expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
    },
  );

  it.each(['caller', 'upstream'] as const)('ends both sides when the %s breaks', async (side) => {
    const all = await carrying();
    all[side].ends('reset');
    await pass();
    expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
  });

  it.each(['caller', 'upstream'] as const)('reads no faster than the %s takes it', async (side) => {
    const all = await carrying({ stallTimeoutMs: 1e9 });
    const other = side === 'caller' ? 'upstream' : 'caller';
    all[side].bytesMax = 10;
    const text = 'x'.repeat(1000);
    for (let each = 0; each < 1000; each++) all[other].gives(text);
    await pass();
    expect([all[side].sent.length, all[other].hasUnread]).toEqual([10, true]);
    expect(all.tunnel.bytesIn + all.tunnel.bytesOut).toBe(0);
    // The other way is free.
    all[side].gives('free');
    await pass();
    expect(all[other].sent).toBe('free');
    all[side].takes();
    await pass();
    expect(all[side].sent.length).toBe(1_000_000);
    expect([all.caller.closes, all.upstream.closes]).toEqual([0, 0]);
  });

  it('ends when nothing has moved for too long, not while something moves either way', async () => {
    const { stallTimeoutMs } = LIMITS;
    const all = await carrying();
    for (const line of [all.caller, all.upstream, all.caller]) {
      await pass(stallTimeoutMs - 3 * SWEEP_MS);
      line.gives('x');
      await pass(SWEEP_MS);
      expect(Date.now() - all.tunnel.quietSinceMs).toBeLessThanOrEqual(SWEEP_MS);
    }
    await pass(stallTimeoutMs - 2 * SWEEP_MS);
    expect(all.isOver).toBe(false);
    await pass(4 * SWEEP_MS);
    expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
  });

  it('ends when a side takes nothing for too long, however much the other sends', async () => {
    const all = await carrying();
    all.caller.bytesMax = 0;
    for (let ms = 0; ms < 2 * LIMITS.stallTimeoutMs; ms += 500) {
      if (!all.isOver) all.upstream.gives('more');
      await pass(500);
    }
    expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
  });

  it.each(['caller', 'upstream'] as const)(
    'ends at once when the %s breaks off, though the other side takes nothing',
    async (side) => {
      const all = await carrying();
      const other = side === 'caller' ? 'upstream' : 'caller';
      all[other].bytesMax = 0;
      all[side].gives('one', 'two');
      await pass();
      expect([all.isOver, all[side].closes]).toEqual([false, 0]);
      all[side].ends('reset');
      await pass();
      expect([all.isOver, all[side].closes, all[other].closes]).toEqual([true, 1, 1]);
    },
  );

  it('ends when the caller takes not even the head', async () => {
    const caller = new MemoryLine();
    caller.bytesMax = 10;
    const all = await carrying({}, { caller });
    await pass(LIMITS.stallTimeoutMs - SWEEP_MS);
    expect(all.isOver).toBe(false);
    await pass(3 * SWEEP_MS);
    expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
  });

  it.each(['caller', 'upstream'] as const)(
    'ends at once when the %s breaks off before the caller takes the head',
    async (side) => {
      const caller = new MemoryLine();
      caller.bytesMax = 10;
      const all = await carrying({}, { caller });
      all[side].ends('reset');
      await pass();
      expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
    },
  );

  it('reads no more than 64 KiB ahead of a side that takes nothing', async () => {
    const all = await carrying();
    all.upstream.bytesMax = 0;
    for (let pieces = 0; pieces < 100; pieces++) all.caller.gives('x'.repeat(4096));
    await pass();
    expect(all.caller.hasUnread).toBe(true);
    expect(all.isOver).toBe(false);
  });

  it('ends when its request has taken longer than it may, although it moves', async () => {
    const all = await carrying({ requestTimeoutMs: 25_000 }, { askedMs: 5_000 });
    for (let ms = 0; ms < 19_000; ms += 1000) {
      all.upstream.gives('x');
      await pass(1000);
    }
    expect(all.isOver).toBe(false);
    all.upstream.gives('x');
    await pass(1000 + 2 * SWEEP_MS);
    expect([all.caller.closes, all.upstream.closes, all.isOver]).toEqual([1, 1, true]);
  });

  it('that was ended before it began closes its caller, too', async () => {
    const [caller, upstream] = [new MemoryLine(), new MemoryLine()];
    const guard = new Guard(() => Date.now());
    const options = { guard, nowMs: () => Date.now(), limits: LIMITS, startedAtMs: Date.now() };
    const tunnel = new Tunnel(new Connection(upstream), options);
    tunnel.end();
    expect(upstream.closes).toBe(1);
    const isOver = vi.fn();
    void tunnel.carry(new Connection(caller), SWITCHED).then(isOver);
    await pass();
    expect([caller.closes, upstream.closes, isOver.mock.calls.length]).toEqual([1, 1, 1]);
    await pass(2 * SWEEP_MS);
    expect(vi.getTimerCount()).toBe(0);
  });
});
