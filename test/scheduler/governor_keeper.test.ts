/**
 * What governors changed is stored once, whoever asks for it and whenever, and is not lost where
 * the store fails or another save comes between.
 */
import { describe, expect, it } from 'vitest';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { settings, T0 } from '../support/pools.ts';
import { Rig } from '../support/rig.ts';

function keeper() {
  const rig = new Rig();
  const governors = new GovernorKeeper(rig.store, rig.scheduler);
  const raise = (limit: number) => rig.configure(settings({ limit }));
  const limits = () => rig.store.changes.filter(({ what }) => what === 'limit').map(({ to }) => to);
  return { rig, store: rig.store, governors, raise, limits };
}

describe('GovernorKeeper.save', () => {
  it('stores each change once where two ask at the same time', async () => {
    const { governors, raise, limits } = keeper();
    raise(5);
    await Promise.all([governors.save(), governors.save(), governors.save()]);
    expect(limits()).toEqual([5]);
  });

  it('stores what changed while another save was under way, for who asked then', async () => {
    const { rig, store, governors, raise, limits } = keeper();
    store.hold();
    raise(5);
    const first = governors.save();
    await rig.clock.settle();
    raise(6);
    const others = [governors.save(), governors.save()];
    await rig.clock.settle();
    store.letGo();
    await Promise.all([first, ...others]);
    expect(limits()).toEqual([5, 6]);
  });

  it('tells of an orderly stop once it drains, and the next process untells it', async () => {
    const calm = settings();
    const rig = new Rig({ pool: { ...calm, rate: { ...calm.rate, rpm: 5 } } });
    const starts = () => JSON.parse(rig.store.governors.get('a')?.saved ?? '{}').starts;
    const governors = new GovernorKeeper(rig.store, rig.scheduler);
    await rig.hold();
    await governors.save();
    expect(starts()).toBeUndefined();
    rig.scheduler.drain();
    await governors.save();
    expect(starts()).toEqual([[T0, 1]]);
    const next = rig.restart(0);
    await new GovernorKeeper(next.store, next.scheduler).save();
    expect(starts()).toBeUndefined();
  });

  it('loses nothing where one save fails and another is asked for meanwhile', async () => {
    const { rig, store, governors, raise, limits } = keeper();
    store.hold();
    store.trouble = 'failed';
    raise(5);
    const first = governors.save();
    const failed = expect(first).rejects.toThrow('The store is failed.');
    await rig.clock.settle();
    raise(6);
    const second = governors.save();
    const alsoFailed = expect(second).rejects.toThrow('The store is failed.');
    store.letGo();
    await Promise.all([failed, alsoFailed]);
    expect(limits()).toEqual([]);
    store.trouble = null;
    await governors.save();
    expect(limits()).toEqual([5, 6]);
    await governors.save();
    expect(limits()).toEqual([5, 6]);
  });
});

it('gives nothing that a deleted pool changed to a later one of its name', async () => {
  const { rig, store, governors, raise, limits } = keeper();
  raise(5);
  store.trouble = 'failed';
  await expect(governors.save()).rejects.toThrow();
  store.trouble = null;
  rig.scheduler.turn((nowMs, bouncer) => {
    bouncer.remove(nowMs, 'a');
    bouncer.create(nowMs, 'a', { settings: settings() });
  });
  await governors.save();
  expect(limits()).toEqual([]);
});
