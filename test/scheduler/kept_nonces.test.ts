/** Nonces on their way to the store: with the next flush, and again after one that failed. */
import { describe, expect, it } from 'vitest';
import { Rig } from '../support/rig.ts';

const row = (nonce: string) => ({ pool: 'a', nonce, until: 1 });
const kept = (rig: Rig) => rig.store.tried.map(({ nonces }) => nonces?.map(({ nonce }) => nonce));

describe('keepNonce', () => {
  it('goes with the flush of the grant that follows it', async () => {
    const rig = new Rig();
    rig.scheduler.journal.keepNonce(row('n'));
    await rig.hold();
    expect(kept(rig)[0]).toEqual(['n']);
    expect(rig.store.tried[0]?.leases).toHaveLength(1);
  });

  it('is durable soon where nobody waits for it; other batches stay as they are', async () => {
    const rig = new Rig();
    rig.scheduler.journal.keepNonce(row('n'));
    await rig.clock.pass(250);
    await rig.hold();
    expect(kept(rig)).toEqual([['n'], undefined]);
  });

  it('is tried again after a flush that failed, with what came meanwhile', async () => {
    const rig = new Rig();
    rig.store.trouble = 'failed';
    rig.scheduler.journal.keepNonce(row('n'));
    const isKept = rig.scheduler.journal.isKept();
    await rig.clock.settle();
    expect(await isKept).toBe(false);
    rig.scheduler.journal.keepNonce(row('m'));
    rig.store.trouble = null;
    await rig.clock.pass(500);
    expect(kept(rig).at(-1)).toEqual(['n', 'm']);
    expect(rig.heard).toEqual(['failing', 'recovered']);
  });
});

describe('while the store fails', () => {
  it('no more than 10 000 are kept, the newest', async () => {
    const rig = new Rig();
    rig.store.trouble = 'failed';
    rig.acquire();
    await rig.clock.settle();
    for (let n = 1; n <= 30_000; n++) rig.scheduler.journal.keepNonce(row(`n${n}`));
    rig.store.trouble = null;
    await rig.clock.pass(500);
    const nonces = kept(rig).at(-1) ?? [];
    expect(nonces.length).toBeGreaterThan(8_000);
    expect(nonces.length).toBeLessThanOrEqual(10_000);
    expect(nonces.at(-1)).toBe('n30000');
  });
});

describe('isKept', () => {
  it('is told once all before it is durable', async () => {
    const rig = new Rig();
    rig.store.hold();
    rig.scheduler.journal.keepNonce(row('n'));
    let told: boolean | null = null;
    void rig.scheduler.journal.isKept().then((isKept) => told = isKept);
    await rig.clock.settle();
    expect(told).toBeNull();
    rig.store.letGo();
    await rig.clock.settle();
    expect(told).toBe(true);
  });
});
