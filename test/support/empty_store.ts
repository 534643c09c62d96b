/**
 * A store that takes everything and keeps nothing. Stores of tests build on it, so that each says
 * only what it is about.
 */
import type { Retention, Snapshot, Store } from '../../src/store/store.ts';

export class EmptyStore implements Store {
  beatMs: number | null = null;

  open(): Promise<Snapshot> {
    return Promise.resolve({
      pools: [],
      keys: [],
      leases: [],
      governors: [],
      fence: 0,
      attempt: 0,
      isNew: true,
    });
  }

  commit(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  savePools(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  removePool(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  saveGovernors(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  fold(): Promise<void> {
    return Promise.resolve();
  }

  foldMuch(): Promise<void> {
    return this.fold();
  }

  saveKeys(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  removeKey(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  touchKeys(..._: unknown[]): Promise<void> {
    return Promise.resolve();
  }

  addSession(): Promise<void> {
    return Promise.resolve();
  }

  touchSessions(): Promise<void> {
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

  pruneNonces(_before: number): Promise<void> {
    return Promise.resolve();
  }

  readChanges(..._: unknown[]): ReturnType<Store['readChanges']> {
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

  pruneLog(_: Retention): Promise<boolean> {
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
