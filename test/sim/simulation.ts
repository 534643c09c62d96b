/**
 * One simulation: turns full of faults, then a calm phase in which faults stop and everything must
 * drain, then a probe that counts the slots. One seed decides all of it.
 */
import type { Tally } from './tally.ts';
import { claim, Violation } from './violation.ts';
import { POOLS, World } from './world.ts';

/** Longer than any lease, wait, pause or outage of the stormy phase goes on. */
const CALM_MS = 60_000;
const PROBES_MAX = 100;
/** After each event of the stormy phase. */
const CRASH_CHANCE = 0.001;

export interface Report {
  readonly tally: Tally;
  readonly virtualMs: number;
  readonly events: number;
}

type Step = { readonly weight: number; readonly take: (world: World) => void };

const STEPS: readonly Step[] = [
  { weight: 55, take: acquire },
  { weight: 10, take: hangUp },
  { weight: 8, take: repeat },
  { weight: 4, take: (world) => void world.put(pool(world), world.random.whole(1, 4)) },
  { weight: 2, take: pause },
  { weight: 3, take: (world) => void world.pause(pool(world), null) },
  { weight: 1.5, take: (world) => void world.remove(pool(world)) },
  { weight: 2, take: (world) => release(world) },
  { weight: 1, take: takeBack },
  { weight: 1.2, take: crash },
  { weight: 1, take: (world) => void world.stop(world.random.whole(0, 3000)) },
  { weight: 0.6, take: (world) => world.weather.goDown(world.random.whole(50, 4000)) },
  { weight: 0.8, take: (world) => world.weather.goBusy(world.random.whole(5, 1500)) },
  { weight: 1.2, take: (world) => world.weather.goSlow(world.random.whole(50, 3000)) },
  { weight: 1.5, take: jump },
  { weight: 8, take: () => {} },
];

/** Runs one seed; throws a {@link Violation} that says when which promise broke. */
export async function simulate(
  seed: number,
  turns: number,
  trace?: (atMs: number, name: string) => void,
): Promise<Report> {
  const world = new World(seed, trace);
  const restore = world.machine.install();
  let turn = 0;
  try {
    world.start();
    for (const name of POOLS) void world.put(name, 2);
    world.crashChance = CRASH_CHANCE;
    for (; turn < turns; turn++) {
      world.random.weighted(STEPS).take(world);
      await world.pass(spanMs(world));
    }
    await calm(world);
  } catch (error) {
    const { nowMs } = world.machine;
    const what = error instanceof Violation ? error.message : String(error);
    const cause = { cause: error };
    throw new Violation(`seed ${seed}, turn ${turn}, ${nowMs} ms: ${what}`, cause);
  } finally {
    restore();
  }
  const { machine, tally } = world;
  return { tally, virtualMs: machine.nowMs, events: machine.eventCount };
}

function spanMs({ random }: World): number {
  if (random.chance(0.25)) return 0;
  if (random.chance(0.6)) return random.whole(0, 15);
  return random.chance(0.9) ? random.whole(10, 250) : random.whole(200, 2500);
}

function pool({ random }: World): string {
  return random.pick(POOLS);
}

function acquire(world: World): void {
  const { random } = world;
  const waitMs = random.chance(0.35) ? 0 : random.whole(1, 3500);
  const slots = random.chance(0.7) ? 1 : random.whole(2, 4);
  const name = pool(world);
  const door = random.chance(0.2) ? 'proxy' : 'lock';
  const hasKey = door === 'lock' && random.chance(0.4);
  const key = hasKey ? { repeatKey: world.makeKey(name) } : {};
  if (world.acquire(name, { waitMs, slots, door, ...key }) === null) return;
  if (random.chance(0.1)) world.acquire(name, { waitMs, slots: 1 });
}

/** Asks again under a key, often one whose grant is on its way to its caller. */
function repeat(world: World): void {
  const { keys, oracle, random } = world;
  const untold = oracle.calls.open().flatMap(({ poolName, repeatKey, lease }) =>
    repeatKey === null || lease === null ? [] : [{ poolName, repeatKey }]
  );
  const known = untold.length > 0 && random.chance(0.5) ? untold : keys;
  if (known.length === 0) return;
  const { poolName, repeatKey } = random.pick(known);
  const waitMs = random.chance(0.35) ? 0 : random.whole(1, 3500);
  world.tally.note('repeats');
  world.acquire(poolName, { waitMs, slots: 1, repeatKey });
}

function hangUp(world: World): void {
  const open = world.oracle.calls.open();
  if (open.length === 0 || world.life === null) return;
  const call = world.random.pick(open);
  world.tally.note(call.lease === null ? 'hang-ups in the queue' : 'hang-ups before the answer');
  call.caller.abort();
}

function pause(world: World): void {
  const { random } = world;
  void world.pause(pool(world), random.chance(0.3) ? Infinity : random.whole(1, 3000));
}

function release({ holders, oracle, random }: World): void {
  const live = oracle.ledger.live();
  if (live.length === 0) return;
  const { pool: name, slotId } = random.pick(live);
  const other = POOLS.find((one) => one !== name);
  if (other !== undefined) holders.releaseForeign(other, slotId);
}

function takeBack({ life, machine, oracle, random, tally }: World): void {
  const live = oracle.ledger.live().filter(({ endMs }) => endMs > machine.nowMs);
  if (live.length === 0 || life === null) return;
  const record = random.pick(live);
  const entry = life.directory.get(record.pool);
  if (entry === undefined) return;
  const isReleased = life.scheduler.release(entry.pool, record.slotId, { kind: 'unknown' });
  claim(isReleased, 'an operator takes a slot back');
  oracle.ledger.end(record, 'take back');
  tally.note('slots taken back by an operator');
}

function crash(world: World): void {
  const { life, random, tally } = world;
  if (life === null) return;
  tally.note('fault: crash');
  world.crash(random.chance(0.4) ? 0 : random.whole(1, random.chance(0.8) ? 900 : 6000));
}

function jump(world: World): void {
  const { random, tally } = world;
  const ms = random.chance(0.3) ? random.whole(1, 900) : random.whole(1001, 7_200_000);
  const isBack = random.chance(0.5);
  tally.note(isBack ? 'fault: wall clock set back' : 'fault: wall clock set forward');
  world.jump(isBack ? -ms : ms);
}

/** Faults stop. All waits and leases must end, no row may stay, and every slot must be there. */
async function calm(world: World): Promise<void> {
  const { disk, oracle, weather } = world;
  weather.calmDown();
  world.crashChance = 0;
  await world.pass(CALM_MS);
  if (world.life?.scheduler.isDraining !== false) world.crash(0);
  await world.pass(CALM_MS);
  for (const name of POOLS) {
    void world.pause(name, null);
    if (world.life?.directory.get(name) === undefined) void world.put(name, 3);
  }
  await world.pass(CALM_MS);
  claim(oracle.calls.open().length === 0, 'in calm weather everybody is answered');
  claim(oracle.ledger.live().length === 0, 'in calm weather every lease ends');
  claim(disk.leases.size === 0, 'in calm weather no row of an ended lease stays', {
    rows: [...disk.leases.keys()].map((id) => oracle.ledger.get(id)),
  });
  for (const name of POOLS) await probe(world, name);
}

/** Takes slots one by one until one is refused: there are exactly as many as the limit says. */
async function probe(world: World, name: string): Promise<void> {
  const { life, oracle } = world;
  const entry = life?.directory.get(name);
  claim(entry !== undefined, 'a pool that was put is there');
  if (life === null || entry === undefined) return;
  claim(entry.pool.inUse === 0 && entry.pool.queue.length === 0, 'a calm pool is empty');
  // What was learned from refusals would hold the probe back.
  life.scheduler.turn((nowMs, bouncer) => bouncer.forget(nowMs, entry.pool));
  let held = 0;
  for (let tries = 0; tries < PROBES_MAX; tries++) {
    const call = world.acquire(name, { waitMs: 0, slots: 1 }, () => {});
    await world.pass(call?.answer === 'refused by the rate' ? 100 : 10);
    if (call?.answer === 'granted') held++;
    else if (call?.answer !== 'refused by the rate') break;
  }
  const { mode, limit: configured } = entry.spec.concurrency;
  const limit = mode === 'adaptive' ? entry.pool.governor.limit : configured;
  claim(held === limit, 'the probe finds every slot', { name, held, limit });
  for (const { slotId } of entry.pool.leases.values()) {
    life.scheduler.release(entry.pool, slotId, { kind: 'unknown' });
    const record = oracle.ledger.get(slotId);
    if (record !== undefined) oracle.ledger.end(record, 'take back');
  }
  claim(entry.pool.inUse === 0, 'every slot is given back');
  await world.pass(1000);
}
