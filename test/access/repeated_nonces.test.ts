/** The nonces of acquires that are repeated: durable before the grant is told again. */
import { beforeEach, expect, test } from 'vitest';
import { TestStore, type Trouble } from '../support/test_store.ts';
import { HMAC_ALONE, turn, World } from './support.ts';

/** Longer than the journal waits for a lock of others. */
const GIVEN_UP_MS = 1_100;

class SlowStore extends TestStore {
  readonly durable = new Set<string>();

  override async commit(batch: Parameters<TestStore['commit']>[0]): Promise<void> {
    await super.commit(batch);
    for (const { nonce } of batch.nonces ?? []) this.durable.add(nonce);
  }
}

let store: SlowStore;
let world: World;

beforeEach(async () => {
  store = new SlowStore();
  world = await World.open({ store });
  await world.makePool(HMAC_ALONE);
});

const ask = (nonce: string) =>
  world.ask({ headers: { ...world.signed({ nonce }), 'idempotency-key': 'job' } });

/** Lets writes be tried, and answers go out. */
async function settle(ms = 0): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await turn();
    await world.clock.pass(0);
  }
  await world.clock.pass(ms);
}

test('of one that is held: told again once its nonce is durable', async () => {
  const { slotId } = await (await ask('first')).json();
  const again = await ask('again');
  expect(again.status).toBe(200);
  expect(store.durable).toContain('again');
  expect((await again.json()).slotId).toBe(slotId);
});

test('that comes while the grant is on its way to the disk: its nonce follows', async () => {
  store.hold();
  const first = ask('first');
  await settle();
  let isTold = false;
  const again = ask('again').finally(() => isTold = true);
  await settle();
  const [{ nonces = [] } = {}] = store.tried;
  expect(nonces.map(({ nonce }) => nonce)).not.toContain('again');
  const commit = store.commit.bind(store);
  let letGo = () => {};
  store.commit = async (batch) => {
    await new Promise<void>((done) => letGo = done);
    await commit(batch);
  };
  store.letGo();
  await settle();
  expect([(await first).status, isTold]).toEqual([200, false]);
  letGo();
  await settle();
  expect((await again).status).toBe(200);
  expect(store.durable).toContain('again');
});

test.each<Trouble>(['busy', 'failed'])('is not told again while the store is %s', async (kind) => {
  expect((await ask('first')).status).toBe(200);
  store.trouble = kind;
  const again = ask('again');
  await settle(GIVEN_UP_MS);
  expect((await again).status).toBe(503);
  store.trouble = null;
  await settle(GIVEN_UP_MS);
  expect((await ask('later')).status).toBe(200);
  expect(store.durable).toContain('again');
});

test('is no grant any more where the slot is given back meanwhile', async () => {
  const { slotId } = await (await ask('first')).json();
  store.hold();
  const again = ask('again');
  await settle();
  const path = `${slotId}/release`;
  expect((await world.ask({ path, headers: world.signed({ path }) })).status).toBe(200);
  store.letGo();
  await settle();
  expect((await again).status).toBe(503);
});
