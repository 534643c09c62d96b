/**
 * What a server does on the side, on a manual clock: folding, following the wall clock, and holding
 * still while the store fails.
 */
import { describe, expect, it } from 'vitest';
import { Nonces } from '../../src/access/nonces.ts';
import { startLog } from '../../src/log.ts';
import { epochMsOf } from '../../src/scheduler/clock.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { Housekeeping } from '../../src/scheduler/housekeeping.ts';
import { PoolSpec } from '../../src/wire.ts';
import { settings, T0 } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

function table() {
  const rig = new Rig({ pool: settings({ termMs: 5000, requestTimeoutMs: 9000 }) });
  const { scheduler, store } = rig;
  const directory = new Directory(store, scheduler);
  const governors = new GovernorKeeper(store, scheduler);
  const nonces = new Nonces(() => {});
  const housekeeping = new Housekeeping(store, { scheduler, directory, governors, nonces });
  return { rig, directory, nonces, housekeeping };
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

  it('sees to folds four times a second, but not while the store fails', async () => {
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

  it('shows that the owner lives every 2 s, where the store is kept by that', async () => {
    for (const [beatMs, beats] of [[2000, 5], [null, 0]] as const) {
      const { rig, housekeeping } = table();
      let probes = 0;
      rig.store.beatMs = beatMs;
      rig.store.probe = () => Promise.resolve(void probes++);
      housekeeping.start();
      await rig.clock.pass(10_000);
      expect(probes).toBe(beats);
      housekeeping.stop();
    }
  });

  it('tells once of work that fails, and again when it fails otherwise', async () => {
    const lines: string[] = [];
    startLog((line) => lines.push(line));
    const { rig, housekeeping } = table();
    const reasons = ['a', 'a', 'a', 'b', null, 'b'];
    rig.store.fold = () => {
      const reason = reasons.shift() ?? null;
      return reason === null ? Promise.resolve() : Promise.reject(new Error(`cause ${reason}`));
    };
    housekeeping.start();
    await rig.clock.pass(3000);
    housekeeping.stop();
    const told = lines.flatMap((line) => line.match(/cause ./) ?? []);
    expect(told).toEqual(['cause a', 'cause b', 'cause b']);
  });

  it('deletes nothing for a wall clock that is far ahead for a while', async () => {
    const { rig, housekeeping, directory } = table();
    await directory.put(PoolSpec.parse({ name: 'p', log: { retentionDays: 1 } }));
    const ages: number[] = [];
    rig.store.loggedPools = () => Promise.resolve(['p']);
    rig.store.pruneLog = ({ since }) => {
      ages.push(rig.clock.nowMs() - since);
      return Promise.resolve(false);
    };
    rig.store.pruneNonces = (before) => Promise.resolve(void ages.push(rig.clock.nowMs() - before));
    housekeeping.start();
    rig.clock.jumpWall(400 * 86_400_000);
    await rig.clock.pass(120_000);
    expect(rig.clock.shiftMs).toBe(400 * 86_400_000);
    expect(ages.length).toBeGreaterThan(4);
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(0);
  });

  it('prunes no row of the last minute of a pool whose rates need it after a crash', async () => {
    const { rig, housekeeping, directory } = table();
    await directory.put(PoolSpec.parse({ name: 'plain', log: { rowsMax: 10 } }));
    await directory.put(PoolSpec.parse({ name: 'rpm', log: { rowsMax: 10 }, rate: { rpm: 5 } }));
    await directory.put(PoolSpec.parse({ name: 'tpm', log: { rowsMax: 10 }, rate: { tpm: 5 } }));
    const spared = new Map<string, number>();
    rig.store.loggedPools = () => Promise.resolve(['plain', 'rpm', 'tpm', 'gone']);
    rig.store.pruneLog = ({ pool, sparedSince }) => {
      spared.set(pool, epochMsOf(rig.clock) - sparedSince);
      return Promise.resolve(false);
    };
    housekeeping.start();
    await rig.clock.pass(31_000);
    expect([spared.get('rpm'), spared.get('tpm')]).toEqual([60_000, 60_000]);
    expect(spared.get('plain')).toBeLessThan(0);
    expect(spared.get('gone')).toBeLessThan(0);
  });

  it('stop leaves no timer', async () => {
    const { rig, housekeeping } = table();
    housekeeping.start();
    await rig.clock.pass(5000);
    housekeeping.stop();
    expect(rig.clock.armed).toBe(0);
  });
});
