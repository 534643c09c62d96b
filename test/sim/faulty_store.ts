/**
 * A store on the simulated disk whose writes are late, fail before or after they reached the disk,
 * or find it locked. When its process is killed, each write under way has reached the disk or not;
 * none reaches it afterwards.
 */
import type { Batch, GovernorRow, PoolRow, Snapshot, Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store.ts';
import type { Disk } from './disk.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';
import type { Weather } from './weather.ts';

interface Write {
  readonly apply: () => void;
  isOnDisk: boolean;
}

export class FaultyStore implements Store {
  readonly #disk: Disk;
  readonly #machine: Machine;
  readonly #weather: Weather;
  #isDead = false;
  readonly #underWay = new Set<Write>();
  /** One writer: a write begins when the one before has been told. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(disk: Disk, machine: Machine, weather: Weather) {
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

  open(): Promise<Snapshot> {
    return Promise.resolve(this.#disk.snapshot());
  }

  commit(batch: Batch): Promise<void> {
    return this.#write(() => this.#disk.commit(batch));
  }

  savePool(row: PoolRow): Promise<void> {
    return this.#write(() => this.#disk.savePool(row));
  }

  removePool(name: string): Promise<void> {
    return this.#write(() => this.#disk.removePool(name));
  }

  saveGovernors(rows: readonly GovernorRow[]): Promise<void> {
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

  // What follows is not part of what is simulated.

  fold(): Promise<void> {
    return Promise.resolve();
  }

  saveKeys(): Promise<void> {
    return Promise.resolve();
  }

  removeKey(): Promise<void> {
    return Promise.resolve();
  }

  touchKeys(): Promise<void> {
    return Promise.resolve();
  }

  saveSessions(): Promise<void> {
    return Promise.resolve();
  }

  removeSessions(): Promise<void> {
    return Promise.resolve();
  }

  readSessions(): Promise<never[]> {
    return Promise.resolve([]);
  }

  saveHistory(): Promise<void> {
    return Promise.resolve();
  }

  readHistory(): Promise<never[]> {
    return Promise.resolve([]);
  }

  readNonces(): Promise<never[]> {
    return Promise.resolve([]);
  }

  pruneNonces(): Promise<void> {
    return Promise.resolve();
  }

  readChanges(): Promise<never[]> {
    return Promise.resolve([]);
  }

  readValue(): Promise<string | null> {
    return Promise.resolve(null);
  }

  saveValue(): Promise<void> {
    return Promise.resolve();
  }

  readLog(): ReturnType<Store['readLog']> {
    return Promise.resolve({ entries: [], nextCursor: null });
  }

  pruneLog(): Promise<boolean> {
    return Promise.resolve(false);
  }

  loggedPools(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
