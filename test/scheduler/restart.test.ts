/**
 * What a restart and a jump of the wall clock leave of leases: no told slot is lost, none lives
 * longer than it may, and no deadline moves.
 */
import { describe, expect, it } from 'vitest';
import { settings, T0 } from '../support/pools.ts';
import { answer, Rig } from '../support/rig.ts';

describe('restore', () => {
  it('holds every lease that was told, with a whole term from the start on', async () => {
    const rig = new Rig({ pool: settings({ requestTimeoutMs: 1000 }) });
    const told = [await rig.hold(), await rig.hold()];
    await rig.clock.pass(90);
    const next = rig.restart(60);
    expect(next.pool.inUse).toBe(2);
    const refused = next.acquire();
    await next.clock.pass(99);
    expect(answer(refused)).toBe('too_many_requests');
    expect(told.map((lease) => next.renew(lease))).toEqual(['renewed', 'renewed']);
    await next.clock.pass(100);
    expect(next.lapsed).toHaveLength(2);
  });

  it('lets no lease pass its request deadline', async () => {
    const rig = new Rig();
    const lease = await rig.hold();
    const next = rig.restart(200);
    await next.clock.pass(49);
    expect(next.renew(lease)).toBe('capped');
    await next.clock.pass(1);
    expect(next.renew(lease)).toBe('gone');
    expect(next.pool.inUse).toBe(0);
  });

  it('drops what is past its request deadline, and its row', async () => {
    const rig = new Rig();
    await rig.hold();
    const next = rig.restart(250);
    await next.clock.pass(250);
    expect(next.pool.inUse).toBe(0);
    expect(next.store.leases.size).toBe(0);
  });

  it('brings a release back that was not saved, which then lapses like any other', async () => {
    const rig = new Rig();
    const lease = await rig.hold();
    expect(rig.release(lease)).toBe(true);
    const next = rig.restart(0);
    expect(next.pool.inUse).toBe(1);
    await next.clock.pass(100);
    expect(next.lapsed).toHaveLength(1);
    expect(next.pool.inUse).toBe(0);
  });

  it('gives higher fences than any before, whatever the wall clock says', async () => {
    const rig = new Rig();
    const before = await rig.hold();
    rig.clock.stall(-3_600_000);
    const next = rig.restart(0);
    expect((await next.hold()).fence).toBe(before.fence + 1);
  });

  it('moves a request deadline once after the wall clock was set back, not each time', async () => {
    const rig = new Rig({ pool: settings({ termMs: 400, requestTimeoutMs: 1000 }) });
    await rig.hold();
    rig.clock.stall(-3_600_000);
    const next = rig.restart(0);
    const endMs = next.clock.nowMs() + 1000;
    await next.clock.pass(300);
    const last = next.restart(0);
    const ends = [...last.pool.leases.values()].map(({ requestDeadlineMs }) => requestDeadlineMs);
    expect(ends).toEqual([endMs]);
  });
});

describe('a wall clock that jumps', () => {
  it.each([3_600_000, -3_600_000])('by %i ms moves no deadline', async (ms) => {
    const rig = new Rig();
    const lease = await rig.hold();
    rig.clock.jumpWall(ms);
    rig.clock.followWallClock();
    rig.scheduler.restamp();
    await rig.clock.pass(99);
    expect(lease.isLive).toBe(true);
    await rig.clock.pass(1);
    expect(lease.isLive).toBe(false);
  });

  it('has the stored rows rewritten, so that a restart finds the true deadline', async () => {
    const rig = new Rig({ pool: settings({ termMs: 1000, requestTimeoutMs: 3000 }) });
    const lease = await rig.hold();
    const proxied = await rig.hold({ door: 'proxy' });
    rig.clock.jumpWall(3_600_000);
    rig.clock.followWallClock();
    rig.scheduler.restamp();
    await rig.clock.pass(250);
    expect(rig.store.leases.get(lease.slotId)).toMatchObject({
      grantedAt: T0 + 3_600_000,
      requestDeadline: T0 + 3_600_000 + 3000,
    });
    expect(rig.store.leases.has(proxied.slotId)).toBe(false);
  });
});
