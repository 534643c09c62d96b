/**
 * What a server does on the side, on a manual clock: folding, following the wall clock, and holding
 * still while the store fails.
 */
import { describe, expect, it } from 'vitest';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { Housekeeping } from '../../src/scheduler/housekeeping.ts';
import { settings, T0 } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

function table() {
  const rig = new Rig({ pool: settings({ termMs: 5000, requestTimeoutMs: 9000 }) });
  const { scheduler, store } = rig;
  const directory = new Directory(store, scheduler);
  const governors = new GovernorKeeper(store, scheduler);
  return { rig, housekeeping: new Housekeeping(store, { scheduler, directory, governors }) };
}

describe('Housekeeping', () => {
  it('rewrites the rows of live leases once the wall clock has jumped, and only then', async () => {
    const { rig, housekeeping } = table();
    const lease = await rig.hold();
    housekeeping.start();
    await rig.clock.pass(3000);
    expect(rig.store.tried).toHaveLength(1);
    rig.clock.jumpWall(-60_000);
    await rig.clock.pass(1250);
    expect(rig.store.tried).toHaveLength(2);
    expect(rig.store.leases.get(lease.slotId)?.requestDeadline).toBe(T0 + 9000 - 60_000);
    expect(lease.isLive).toBe(true);
  });

  it('folds four times a second, but not while the store fails', async () => {
    const { rig, housekeeping } = table();
    housekeeping.start();
    await rig.clock.pass(1000);
    expect(rig.store.written.filter((what) => what === 'fold')).toHaveLength(4);
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.pass(1000);
    expect(rig.store.written.filter((what) => what === 'fold').length).toBeLessThanOrEqual(5);
  });

  it('follows the wall clock while the store fails too', async () => {
    const { rig, housekeeping } = table();
    housekeeping.start();
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.pass(1000);
    expect(rig.scheduler.journal.isFailing).toBe(true);
    rig.clock.jumpWall(-60_000);
    await rig.clock.pass(1250);
    expect(rig.clock.shiftMs).toBe(-60_000);
  });

  it('stop leaves no timer', async () => {
    const { rig, housekeeping } = table();
    housekeeping.start();
    await rig.clock.pass(5000);
    housekeeping.stop();
    expect(rig.clock.armed).toBe(0);
  });
});
