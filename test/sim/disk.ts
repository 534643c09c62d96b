/**
 * What survives a crash: the rows of one database, without any fault of its own. The faulty store
 * writes here; the next process starts from here.
 */
import type { Batch, GovernorRow, LeaseRow, PoolRow, Snapshot } from '../../src/store/store.ts';

export class Disk {
  readonly pools = new Map<string, PoolRow>();
  readonly leases = new Map<string, LeaseRow>();
  /** The ids of all attempts that have a row of their own as granted. */
  readonly granted = new Set<string>();
  readonly governors = new Map<string, GovernorRow>();
  fence = 0;
  attempt = 0;

  commit({ leases, ended, entries, fence }: Batch): void {
    for (const row of leases) this.leases.set(row.slotId, row);
    for (const slotId of ended) this.leases.delete(slotId);
    for (const { id, outcome } of entries) {
      if (outcome === 'granted') this.granted.add(id);
      this.attempt = Math.max(this.attempt, parseInt(id, 36));
    }
    this.fence = Math.max(this.fence, fence);
  }

  savePools(rows: readonly PoolRow[]): void {
    for (const row of rows) this.pools.set(row.name, row);
  }

  saveGovernors(rows: readonly GovernorRow[]): void {
    for (const row of rows) if (this.pools.has(row.pool)) this.governors.set(row.pool, row);
  }

  removePool(name: string): void {
    this.pools.delete(name);
    this.governors.delete(name);
  }

  /** What a starting server reads. It forgets the leases whose pool is gone. */
  snapshot(): Snapshot {
    for (const row of this.leases.values()) {
      if (!this.pools.has(row.pool)) this.leases.delete(row.slotId);
    }
    return {
      pools: [...this.pools.values()],
      keys: [],
      governors: [...this.governors.values()],
      leases: [...this.leases.values()],
      fence: this.fence,
      attempt: this.attempt,
      isNew: this.pools.size === 0,
    };
  }
}
