/** The tolerance of signatures over a restart: what a small one forgot stays refused. */
import { expect, test } from 'vitest';
import { Nonces } from '../../src/access/nonces.ts';
import { keepTolerances, restoreTolerances } from '../../src/cli/tolerances.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { T0 } from '../support/pools.ts';

test('a tolerance that was raised before or over a restart opens no time before it', async () => {
  const store = new MemoryStore();
  await store.open();
  const start = async () => {
    const nonces = new Nonces(() => {}, 3, (byPool) => keepTolerances(store, byPool));
    await restoreTolerances(nonces, store);
    return nonces;
  };
  expect((await start()).signedSince('p', 1_000, T0)).toBe(0);
  const raised = await start();
  expect(raised.signedSince('p', 900_000, T0 + 10_000)).toBe(T0 + 9_000);
  expect(raised.signedSince('other', 900_000, T0 + 10_000)).toBe(0);
  expect((await start()).signedSince('p', 900_000, T0 + 60_000)).toBe(T0 + 9_000);
});
