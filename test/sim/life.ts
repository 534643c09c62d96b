/**
 * One life of the server's process on the simulated machine, from a start on what the disk kept to
 * a crash: the production clock, scheduler, journal, directory, housekeeping and what the lock door
 * asks through, put together as `serve` does it.
 */
import { SystemClock } from '../../src/scheduler/clock.ts';
import { Directory } from '../../src/scheduler/directory.ts';
import { GovernorKeeper } from '../../src/scheduler/governor_keeper.ts';
import { Nonces } from '../../src/access/nonces.ts';
import { Housekeeping } from '../../src/scheduler/housekeeping.ts';
import type { SchedulerEvents } from '../../src/scheduler/scheduler.ts';
import { Repeats } from '../../src/scheduler/repeats.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { slotIds } from '../../src/scheduler/slot_id.ts';
import type { Disk } from './disk.ts';
import { FaultyStore } from './faulty_store.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import type { Weather } from './weather.ts';

export interface LifeOptions {
  readonly disk: Disk;
  readonly machine: Machine;
  readonly weather: Weather;
  readonly random: Random;
  readonly events: SchedulerEvents;
}

export class Life {
  readonly scheduler: Scheduler;
  readonly directory: Directory;
  readonly repeats: Repeats;
  readonly startedAtMs: number;
  readonly #store: FaultyStore;
  readonly #machine: Machine;
  isOver = false;

  constructor({ disk, machine, weather, random, events }: LifeOptions) {
    this.startedAtMs = machine.nowMs;
    this.#machine = machine;
    this.#store = new FaultyStore(disk, machine, weather);
    const snapshot = disk.snapshot();
    const { fence, attempt } = snapshot;
    const clock = new SystemClock();
    const mint = slotIds((bytes) => bytes.forEach((_, at) => bytes[at] = random.whole(0, 255)));
    this.scheduler = new Scheduler({
      store: this.#store,
      clock,
      fence,
      attempt,
      mint,
      random: () => random.next(),
      events,
    });
    this.directory = new Directory(this.#store, this.scheduler);
    this.directory.load(snapshot);
    this.scheduler.restore(snapshot.leases);
    this.repeats = new Repeats(this.scheduler);
    const { scheduler, directory } = this;
    const governors = new GovernorKeeper(this.#store, scheduler);
    const nonces = new Nonces(() => {});
    new Housekeeping(this.#store, { scheduler, directory, governors, nonces }).start();
  }

  /** Ends the process between two steps, whatever it is doing. */
  end(random: Random): void {
    this.isOver = true;
    this.#store.kill(random);
    this.#machine.dropProcess();
  }
}
