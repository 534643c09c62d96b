/** What a caller hands in: a function that fails ends nothing, and a signal is heard by all. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { json } from './fake_server.ts';
import { make } from './stage.ts';

let warned: string[];
beforeEach(() => {
  warned = [];
  vi.spyOn(process, 'emitWarning').mockImplementation((line) => void warned.push(String(line)));
});
afterEach(() => void vi.restoreAllMocks());

const FAILING = [
  ['throws', () => {
    throw new Error('mine');
  }],
  ['rejects', () => Promise.reject(new Error('mine'))],
] as const;

describe('onRenewed', () => {
  it.each(FAILING)('that %s is a warning, and the slot is renewed on', async (_, onRenewed) => {
    const { clock, pool } = make();
    const slot = await pool.acquire({ onRenewed });
    await clock.pass(10_000);
    expect(slot.signal.aborted).toBe(false);
    expect(warned).toHaveLength(10);
    expect(warned[0]).toBe('nthbouncer: onRenewed failed: mine');
  });
});

describe('onPlace', () => {
  it.each(FAILING)('that %s is a warning, and is called again', async (_, fail) => {
    const { clock, server, pool } = make();
    server.termMs = 60_000;
    server.place = 4;
    server.way = (verb) => ({ thereMs: 0, backMs: verb === 'acquire' ? 3_000 : 0 });
    const onPlace = vi.fn(fail);
    const acquired = pool.acquire({ waitMs: 20_000, onPlace });
    server.way = () => ({ thereMs: 0, backMs: 0 });
    await clock.pass(3_000);
    expect((await acquired).signal.aborted).toBe(false);
    expect(onPlace.mock.calls).toEqual([[4], [4]]);
    expect(warned).toEqual(Array(2).fill('nthbouncer: onPlace failed: mine'));
  });
});

describe('marginMs', () => {
  it('that throws fails the acquire, and holds no slot', async () => {
    const { server, pool } = make();
    const [, marginMs] = FAILING[0];
    await expect(pool.acquire({ marginMs, waitMs: 5_000 })).rejects.toThrow('mine');
    expect(server.leases).toMatchObject([{ state: 'released', report: { status: 500 } }]);
  });
});

describe('signal', () => {
  it('ends however many acquires, and is listened to once', async () => {
    const { clock, server, pool } = make();
    const controller = new AbortController();
    const { signal } = controller;
    const listened = vi.spyOn(signal, 'addEventListener');
    const later = { error: 'too_many_requests', message: 'Full.', retryAfterMs: 2_000 };
    server.refusals.push(...Array.from({ length: 10 }, () => json(429, later)));
    const acquires = Array.from({ length: 10 }, () => pool.acquire({ waitMs: 5_000, signal }));
    await clock.pass(100);
    server.way = () => ({ thereMs: Infinity, backMs: 0 });
    acquires.push(...Array.from({ length: 10 }, () => pool.acquire({ waitMs: 5_000, signal })));
    const ended = Promise.allSettled(acquires);
    await clock.pass(100);
    controller.abort('enough');
    const rejected = { status: 'rejected', reason: 'enough' };
    expect(await ended).toEqual(acquires.map(() => rejected));
    expect(listened).toHaveBeenCalledTimes(1);
  });
});
