/** A held slot: renewals, and that its signal never fires too late. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type Slot, SlotLost } from '../../src/client/client.ts';
import { json } from './fake_server.ts';
import { settled } from './manual_clock.ts';
import { make } from './stage.ts';

describe('Slot', () => {
  it('renews at a third of the term, for as long as it is held', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    await clock.pass(10_000);
    const renewals = server.seen.filter(({ verb }) => verb === 'renew').map(({ atMs }) => atMs);
    expect(renewals).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((s) => s * 1_000));
    expect(slot.signal.aborted).toBe(false);
    expect(await slot.release()).toBe(true);
    expect(clock.timers).toBe(1);
    await clock.pass(10_000);
    expect(server.seen.filter(({ verb }) => verb === 'renew')).toHaveLength(10);
    expect(slot.signal.aborted).toBe(false);
  });

  it('fires its signal before the lease ends when no renewal comes through', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    server.isDown = true;
    await clock.pass(2_699);
    expect(slot.signal.aborted).toBe(false);
    await clock.pass(1);
    expect(slot.signal.reason).toBeInstanceOf(SlotLost);
    expect(slot.signal.reason).toMatchObject({ code: 'slot_lost', cause: 'unrenewed' });
    expect(server.leases[0]?.state).toBe('held');
  });

  it.each([NaN, -5_000])('fires its signal in time with a margin of %d', async (marginMs) => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire({ marginMs });
    server.isDown = true;
    await clock.pass(2_999);
    expect(slot.signal.aborted).toBe(true);
    expect(server.leases[0]?.state).toBe('held');
  });

  it('goes on when the server is back in time', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    server.isDown = true;
    await clock.pass(2_000);
    server.isDown = false;
    await clock.pass(5_000);
    expect(slot.signal.aborted).toBe(false);
    expect(server.leases[0]?.state).toBe('held');
  });

  it('tells at once that the server took the slot back', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    server.leases[0]!.state = 'released';
    await clock.pass(1_000);
    expect(slot.signal.reason).toMatchObject({ cause: 'gone' });
    expect(await slot.release()).toBe(false);
  });

  it.each([[7_000, 6_700], [2_000, 1_800]])(
    'ends before a request deadline of %i ms, longer or shorter than the term',
    async (requestTimeoutMs, firesAtMs) => {
      const { clock, server, pool } = make();
      server.requestTimeoutMs = requestTimeoutMs;
      const slot = await pool.acquire();
      await clock.pass(firesAtMs - 1);
      expect(slot.signal.aborted).toBe(false);
      await clock.pass(1);
      expect(slot.signal.reason).toMatchObject({ cause: 'request_deadline' });
    },
  );

  it.each([[1_000, 900], [2_100, 1_890], [5_000, 4_500], [29_000, 27_000]])(
    'leaves time to work in a life of %i ms under a much longer term',
    async (requestTimeoutMs, firesAtMs) => {
      const { clock, server, pool } = make();
      server.termMs = 30_000;
      server.requestTimeoutMs = requestTimeoutMs;
      const told: number[] = [];
      const slot = await pool.acquire();
      await pool.acquire({ marginMs: (termMs) => told.push(termMs) });
      expect([slot.termMs, ...told]).toEqual([requestTimeoutMs, requestTimeoutMs]);
      await clock.pass(firesAtMs - 1);
      expect(slot.signal.aborted).toBe(false);
      await clock.pass(1);
      expect(slot.signal.reason).toMatchObject({ cause: 'request_deadline' });
      expect(server.leases[0]?.state).toBe('held');
    },
  );

  it('is released once, by whichever call comes first', async () => {
    const { server, pool } = make();
    {
      await using slot = await pool.acquire();
      slot.report({ status: 200, tokens: 7 });
      await slot.release();
      await slot.release({ status: 500 });
    }
    expect(server.seen.filter(({ verb }) => verb === 'release')).toHaveLength(1);
    expect(server.leases[0]?.report).toEqual({ status: 200, tokens: 7 });
  });

  it('is given back with a report that the server refuses, and says so', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    await expect(slot.release({ status: 9_999 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(server.leases[0]).toMatchObject({ state: 'released', report: { status: 500 } });
    expect(await slot.release()).toBe(false);
    expect(await slot.release({ status: 200 })).toBe(false);
    expect(server.seen.filter(({ verb }) => verb === 'release')).toHaveLength(3);
    await clock.pass(10_000);
    expect(server.seen.filter(({ verb }) => verb === 'renew')).toEqual([]);
  });

  it('that is not given back is asked for again by the next release, with its report', async () => {
    const { server, pool } = make();
    const slot = await pool.acquire();
    server.releaseRefusals.push(json(401, { error: 'unauthorized' }));
    await expect(slot.release({ status: 200 })).rejects.toMatchObject({ code: 'unauthorized' });
    expect(server.leases[0]?.state).toBe('held');
    expect(await slot.release()).toBe(true);
    expect(server.leases[0]).toMatchObject({ state: 'released', report: { status: 200 } });
  });

  it.each(['run', 'await using'])(
    'whose report is refused costs no result with %s',
    async (way) => {
      const { server, pool } = make();
      const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
      const work = (slot: Slot) => {
        slot.report({ status: 42 });
        return 'result';
      };
      const use = async () => {
        await using slot = await pool.acquire();
        return work(slot);
      };
      expect(await (way === 'run' ? pool.run(work) : use())).toBe('result');
      expect(server.leases[0]).toMatchObject({ state: 'released', report: { status: 500 } });
      expect(warned.mock.calls).toEqual([
        ['nthbouncer: the release of a slot was refused: status: wrong'],
      ]);
      warned.mockRestore();
    },
  );

  it('tries a release again, and gives up when the lease has ended anyway', async () => {
    const { clock, server, pool } = make();
    const slot = await pool.acquire();
    server.isDown = true;
    const released = slot.release();
    await clock.pass(10_000);
    expect(await released).toBe(false);
  });

  it('never outlives its lease, whatever the network does', async () => {
    const ms = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 400 }) },
      { weight: 2, arbitrary: fc.integer({ min: 400, max: 5_000 }) },
      { weight: 1, arbitrary: fc.constant(Infinity) },
    );
    const way = fc.record({ thereMs: ms, backMs: ms });
    const property = fc.asyncProperty(
      fc.array(way, { minLength: 4, maxLength: 40 }),
      fc.constantFrom(1_000, 2_500, 4_000, 60_000),
      fc.constantFrom(0, 20_000),
      async (ways, requestTimeoutMs, waitMs) => {
        const { clock, server, pool } = make();
        server.requestTimeoutMs = requestTimeoutMs;
        let at = 0;
        server.way = () => ways[at++ % ways.length]!;
        const held = new Map<string, AbortSignal>();
        const acquired = pool.acquire({ waitMs }).then(
          (slot) => held.set(slot.slotId, slot.signal),
          () => {},
        );
        const late: string[] = [];
        server.lapsed = ({ slotId }) => {
          if (held.get(slotId)?.aborted === false) late.push(slotId);
        };
        await clock.pass(40_000);
        // A slot that was handed out after its lease had lapsed would be late as well.
        for (const { slotId, state } of server.leases) {
          if (state === 'lapsed' && held.get(slotId)?.aborted === false) late.push(slotId);
        }
        expect(late).toEqual([]);
        await clock.pass(100_000);
        await settled();
        await acquired;
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });
});
