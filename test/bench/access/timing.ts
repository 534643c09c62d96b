/**
 * Whether time tells a name: answers to an unknown pool, an unknown key and a wrong key (one of
 * another pool), tried in turn in one process. Prints the medians and how far they lie apart; ends
 * with 1 where that is more than 5 %. Run it on a quiet machine: `deno run -A` this file.
 */
import { freshKey } from '../../../src/access/keys.ts';
import { median } from '../head.ts';
import { incoming } from '../../support/http.ts';
import { peerOf } from '../../support/server.ts';
import { World } from '../../access/support.ts';

const ROUNDS = 10_000;
const WARM_UP = 2_000;
const APART_MAX = 0.05;

const world = await World.open();
await world.makePool();
await world.makePool({}, 'other');
await world.makeKey();
const wrongKey = await world.makeKey('other');
const unknownKey = freshKey();

const kinds: Record<string, { pool: string; key: string }> = {
  'unknown pool': { pool: 'q', key: unknownKey },
  'unknown key': { pool: 'p', key: unknownKey },
  'wrong key': { pool: 'p', key: wrongKey },
};
const times = Object.fromEntries(Object.keys(kinds).map((name) => [name, [] as number[]]));
const names = Object.keys(kinds);

for (let round = -WARM_UP; round < ROUNDS; round++) {
  // Another order each time, and an address each, so that no answer is held back.
  for (let i = 0; i < names.length; i++) {
    const name = names[(i + round + WARM_UP) % names.length] as string;
    const { pool, key } = kinds[name] as { pool: string; key: string };
    const us = await measure(pool, key, `10.${round & 255}.${(round >> 8) & 255}.${i + 1}`);
    if (round >= 0) times[name]?.push(us);
  }
  // As a server does, let what was logged be written.
  if (round % 50 === 0) await world.clock.pass(250);
}

const medians = names.map((name) => median(times[name] ?? []));
names.forEach((name, i) => console.log(`${name}: median ${medians[i]?.toFixed(2)} us`));
const apart = Math.max(...medians) / Math.min(...medians) - 1;
console.log(`apart by ${(apart * 100).toFixed(1)} % (at most ${APART_MAX * 100} %)`);
Deno.exit(apart > APART_MAX ? 1 : 0);

async function measure(pool: string, key: string, address: string): Promise<number> {
  const request = incoming({
    method: 'POST',
    host: 'localhost:8787',
    target: `/pools/${pool}/lock/acquire`,
    headers: { 'x-nthpool-key': key },
  });
  const peer = peerOf(address);
  const startMs = performance.now();
  const answer = await world.app(request, peer);
  const us = (performance.now() - startMs) * 1000;
  if (answer.status !== 401) throw new Error(`${answer.status} was not expected`);
  return us;
}
