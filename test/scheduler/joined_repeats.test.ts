/**
 * Repeats that come while the first one waits, or while its grant is on the way: who keeps the
 * slot, and how long each waits.
 */
import { describe, expect, it } from 'vitest';
import { Repeats } from '../../src/scheduler/repeats.ts';
import { settings } from '../support/pools.ts';
import { ask, slotOf } from '../support/repeats.ts';
import { Rig } from '../support/rig.ts';

describe('a repeat between the grant and its answer', () => {
  async function makeRig(limit: number) {
    const rig = new Rig({ pool: settings({ limit }) });
    const repeats = new Repeats(rig.scheduler);
    const again = (more: Parameters<typeof ask>[0]) => repeats.acquire(rig.pool, ask(more), 'a');
    return { rig, again, held: await rig.hold() };
  }

  it('keeps the slot that it is told of, though the first one hangs up', async () => {
    const { rig, again, held } = await makeRig(1);
    const caller = new AbortController();
    const first = again({ waitMs: 500, signal: caller.signal });
    rig.release(held);
    await rig.clock.settle();
    const second = again({});
    caller.abort();
    await rig.clock.pass(5);
    expect(slotOf(await second)).toBe(slotOf(await first));
    expect(rig.renew({ slotId: slotOf(await second) })).toBe('renewed');
  });

  it('keeps none where all hang up, and a later one is granted anew', async () => {
    const { rig, again, held } = await makeRig(1);
    const callers = [new AbortController(), new AbortController()];
    const asked = callers.map(({ signal }) => again({ waitMs: 500, signal }));
    rig.release(held);
    await rig.clock.settle();
    for (const caller of callers) caller.abort();
    await rig.clock.pass(0);
    expect(await Promise.all(asked)).toMatchObject([{ kind: 'refused' }, { kind: 'refused' }]);
    expect(rig.pool.inUse).toBe(0);
    const later = again({});
    await rig.clock.settle();
    expect(await later).toMatchObject({ kind: 'granted' });
  });

  it('keeps the slot of a first one that was gone before it, though neither waits', async () => {
    const { rig, again } = await makeRig(2);
    rig.store.hold();
    const caller = new AbortController();
    const first = again({ signal: caller.signal });
    await rig.clock.settle();
    caller.abort();
    const second = again({});
    rig.store.letGo();
    await rig.clock.settle();
    expect(slotOf(await second)).toBe(slotOf(await first));
    expect(rig.pool.inUse).toBe(2);
  });

  it('keeps none where nobody waits and all hang up', async () => {
    const { rig, again } = await makeRig(2);
    rig.store.hold();
    const callers = [new AbortController(), new AbortController()];
    const asked = callers.map(({ signal }) => again({ signal }));
    await rig.clock.settle();
    for (const caller of callers) caller.abort();
    rig.store.letGo();
    await rig.clock.settle();
    expect(await Promise.all(asked)).toMatchObject([{ kind: 'refused' }, { kind: 'refused' }]);
    expect(rig.pool.inUse).toBe(1);
  });

  it('takes no second slot once another hung up while the first is written down', async () => {
    const { rig, again } = await makeRig(3);
    rig.store.hold();
    const first = again({});
    await rig.clock.settle();
    const caller = new AbortController();
    void again({ signal: caller.signal });
    caller.abort();
    const third = again({});
    rig.store.letGo();
    await rig.clock.settle();
    expect(slotOf(await third)).toBe(slotOf(await first));
    expect(rig.pool.inUse).toBe(2);
  });
});

describe('a repeat with a wait of its own', () => {
  function waiting(rig: Rig, repeats: Repeats) {
    return async (waitMs: number, told: string[], signal?: AbortSignal) => {
      const more = signal === undefined ? { waitMs } : { waitMs, signal };
      const verdict = await repeats.acquire(rig.pool, ask(more), 'a');
      const after = `after ${verdict.queuedMs} ms`;
      told.push(`${verdict.kind === 'refused' ? verdict.code : verdict.kind} ${after}`);
    };
  }

  it('is told when that is over, and the first one waits on', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    const held = await rig.hold();
    const [first, second]: string[][] = [[], []];
    void again(400, first!);
    await rig.clock.pass(50);
    void again(100, second!);
    await rig.clock.pass(99);
    expect(second).toEqual([]);
    await rig.clock.pass(1);
    expect(second).toEqual(['queue_timeout after 100 ms']);
    expect(rig.pool.queue.length).toBe(1);
    await rig.clock.pass(50);
    rig.release(held);
    await rig.clock.pass(0);
    expect(first).toEqual(['granted after 200 ms']);
  });

  it('keeps no place for nobody once it is over and the first one is gone', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    await rig.hold();
    const caller = new AbortController();
    const [first, second]: string[][] = [[], []];
    void again(400, first!, caller.signal);
    void again(100, second!);
    caller.abort();
    await rig.clock.pass(99);
    expect(rig.pool.queue.length).toBe(1);
    await rig.clock.pass(1);
    expect(second).toEqual(['queue_timeout after 100 ms']);
    expect(rig.pool.queue.length).toBe(0);
  });

  it('is told of the grant that is being written down when that is over', async () => {
    const rig = new Rig({ pool: settings({ limit: 1, termMs: 9000, requestTimeoutMs: 9000 }) });
    const again = waiting(rig, new Repeats(rig.scheduler));
    const held = await rig.hold();
    const [first, second]: string[][] = [[], []];
    void again(400, first!);
    void again(100, second!);
    rig.store.hold();
    rig.release(held);
    await rig.clock.pass(150);
    rig.store.letGo();
    await rig.clock.pass(0);
    expect([first, second]).toEqual([['granted after 0 ms'], ['granted after 0 ms']]);
  });
});
