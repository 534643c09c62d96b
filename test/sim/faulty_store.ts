/**
 * A store on the simulated disk whose writes are late, fail before or after they reached the disk,
 * or find it locked. When its process is killed, each write under way has reached the disk or not;
 * none reaches it afterwards.
 */
import type { Batch, GovernorRow, PoolRow, Snapshot } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store.ts';
import { EmptyStore } from '../support/empty_store.ts';
import type { Disk } from './disk.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import type { Weather } from './weather.ts';

interface Write {
  readonly apply: () => void;
  isOnDisk: boolean;
}

export class FaultyStore extends EmptyStore {
  readonly #disk: Disk;
  readonly #machine: Machine;
  readonly #weather: Weather;
  #isDead = false;
  readonly #underWay = new Set<Write>();
  /** One writer: a write begins when the one before has been told. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(disk: Disk, machine: Machine, weather: Weather) {
    super();
    this.#disk = disk;
    this.#machine = machine;
    this.#weather = weather;
  }

  /** The process is gone: what was under way may have reached the disk, in its order. */
  kill(random: Random): void {
    this.#isDead = true;
    for (const write of this.#underWay) {
      if (!write.isOnDisk && random.chance(0.5)) write.apply();
    }
  }

  override open(): Promise<Snapshot> {
    return Promise.resolve(this.#disk.snapshot());
  }

  override commit(batch: Batch): Promise<void> {
    return this.#write(() => this.#disk.commit(batch));
  }

  override savePools(rows: readonly PoolRow[]): Promise<void> {
    return this.#write(() => this.#disk.savePools(rows));
  }

  override removePool(name: string): Promise<void> {
    return this.#write(() => this.#disk.removePool(name));
  }

  override saveGovernors(rows: readonly GovernorRow[]): Promise<void> {
    return this.#write(() => this.#disk.saveGovernors(rows));
  }

  #write(apply: () => void): Promise<void> {
    const turn = this.#last.then(() => this.#begin(apply));
    this.#last = turn.catch(() => {});
    return turn;
  }

  #begin(apply: () => void): Promise<void> {
    const { kind, reachMs, tellMs } = this.#weather.fate();
    const isKept = kind === 'durable' || kind === 'in doubt';
    const write: Write = { apply, isOnDisk: !isKept };
    this.#underWay.add(write);
    return new Promise((resolve, reject) => {
      this.#later(reachMs, () => {
        if (isKept) apply();
        write.isOnDisk = true;
        this.#later(tellMs, () => {
          this.#underWay.delete(write);
          if (kind === 'durable') resolve();
          else reject(new StoreError(kind === 'busy' ? 'busy' : 'failed', `The write is ${kind}.`));
        });
      });
    });
  }

  #later(delayMs: number, call: () => void): void {
    this.#machine.after(delayMs, () => {
      if (!this.#isDead) call();
    });
  }
}
