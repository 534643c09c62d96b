/**
 * The pools that there are: their settings, their keys, and every change to them. A change is
 * written to the store first and applied when it is durable, one change at a time, so that what is
 * in force is never ahead of what a restart would find.
 */
import { epochMsOf } from './clock.ts';
import { KeyRing } from '../access/keys.ts';
import { faultUnder, KEY_GONE } from '../access/standing.ts';
import type { Standing } from '../access/standing.ts';
import { hasSecrets } from '../access/vault.ts';
import type { Vault } from '../access/vault.ts';
import { CEILINGS } from '../ceilings.ts';
import type { Pause, Pool } from '../core/pool.ts';
import type { KeyChanges, KeyRow, PoolRow, Snapshot, Store } from '../store/store.ts';
import { damagedPoolError } from '../store/store.ts';
import { Unsaved } from '../store/unsaved.ts';
import { issuesOf, PoolSpec } from '../wire.ts';
import { checkHosts, hostsOf } from './pool_hosts.ts';
import { pauseOf, pauseText } from './rows.ts';
import { savedOf } from './saved.ts';
import type { Scheduler } from './scheduler.ts';

/** One pool with all that is known of it. */
export interface Entry {
  readonly spec: PoolSpec;
  readonly pool: Pool;
  readonly keys: KeyRing;
  readonly createdAt: number;
  readonly isManaged: boolean;
}

/** What a pool is to be. */
export interface PoolChange {
  readonly spec: PoolSpec;
  readonly isManaged: boolean;
  /** All the keys that it is to have, no more than it may; absent: those that it has. */
  readonly keys?: readonly KeyRow[];
}

export class DirectoryFullError extends Error {
  override name = 'DirectoryFullError';
}

export interface DirectoryOptions {
  /** Seals the pools' secrets; without one a pool with secrets is refused. */
  readonly vault?: Vault;
  /** The host, beside this machine's own, that can be no pool's. */
  readonly baseDomain?: string;
}

export class Directory {
  readonly #store: Store;
  readonly #scheduler: Scheduler;
  readonly #vault: Vault | null;
  readonly #baseDomain: string;
  readonly #entries = new Map<string, Entry>();
  /** When keys were used, by their ids. */
  readonly #uses = new Unsaved<number>();
  readonly #hosts = new Map<string, string>();
  /** The pools of the hosts that upstream settings name, in lower case. */
  readonly hosts: ReadonlyMap<string, string> = this.#hosts;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store, scheduler: Scheduler, options: DirectoryOptions = {}) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#vault = options.vault ?? null;
    this.#baseDomain = options.baseDomain?.toLowerCase() ?? 'localhost';
    scheduler.faultOf = (standing, pool) => {
      const spec = this.#entries.get(pool)?.spec;
      return spec === undefined ? null : this.#faultOf(spec)?.(standing) ?? null;
    };
  }

  /**
   * Takes over what the store kept. Leases are put back by the scheduler afterwards.
   * @throws VaultError where the master key does not open a pool's secrets, StoreError `damaged`
   * where its settings are not right.
   */
  load(snapshot: Snapshot): void {
    const { keyUses } = this.#scheduler;
    const rings = new Map(snapshot.pools.map(({ name }) => [name, new KeyRing([], keyUses)]));
    for (const row of snapshot.keys) rings.get(row.pool)?.add(row);
    const governors = new Map(snapshot.governors.map((row) => [row.pool, savedOf(row.saved)]));
    for (const row of snapshot.pools) {
      const spec = this.#specOf(row);
      const keys = rings.get(row.name) as KeyRing;
      const saved = governors.get(row.name);
      const pool = this.#scheduler.turn((nowMs, bouncer) =>
        bouncer.create(nowMs, row.name, {
          settings: spec,
          pause: row.pause === null ? null : pauseOf(row.pause),
          ...(saved && { saved }),
        })
      );
      const { createdAt, isManaged } = row;
      this.#entries.set(row.name, { spec, pool, keys, createdAt, isManaged });
      this.#addHosts(spec);
    }
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  list(): Entry[] {
    return [...this.#entries.values()];
  }

  /** Runs a change after all that were asked for before it. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change, change);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Makes a pool, or gives one new settings. */
  async put(spec: PoolSpec, isManaged = false): Promise<Entry> {
    await this.putAll([{ spec, isManaged }]);
    return this.#entries.get(spec.name) as Entry;
  }

  /**
   * Makes or changes many pools and their keys: all or, where one cannot be, none. They are stored
   * in one write and in force at once, so that hosts may change hands among them.
   * @throws DirectoryFullError, HostTakenError before anything is changed.
   */
  async putAll(changes: readonly PoolChange[]): Promise<void> {
    const added = changes.filter(({ spec }) => !this.#entries.has(spec.name)).length;
    if (added > 0 && this.#entries.size + added > CEILINGS.pools) {
      throw new DirectoryFullError(`A server holds at most ${CEILINGS.pools} pools.`);
    }
    this.#checkHosts(changes);
    const createdAt = this.#epochMs();
    const made = changes.map(({ spec, isManaged, keys: rows }) => {
      const known = this.#entries.get(spec.name);
      const keys = known?.keys ?? new KeyRing([], this.#scheduler.keyUses);
      const rest = { keys, createdAt: known?.createdAt ?? createdAt, isManaged };
      return { spec, rest, row: this.#row(spec, rest), changed: changesOf(keys.rows(), rows) };
    });
    await this.#store.savePools(made.map(({ row }) => row), {
      saved: made.flatMap(({ changed }) => changed.saved),
      removed: made.flatMap(({ changed }) => changed.removed),
    });
    for (const { rest: { keys }, changed } of made) {
      for (const { id } of changed.removed) keys.remove(id);
      for (const row of changed.saved) keys.add(row);
    }
    this.#dismissWhoFails(changes);
    for (const { spec, rest } of made) this.#apply(spec, rest);
  }

  /** Deletes a pool: its waiters are refused, its leases end, its keys are gone. */
  async remove(entry: Entry): Promise<void> {
    await this.#store.removePool(entry.spec.name);
    this.#entries.delete(entry.spec.name);
    this.#dropHosts(entry.spec);
    this.#scheduler.turn((nowMs, bouncer) => bouncer.remove(nowMs, entry.spec.name));
    await this.#scheduler.journal.settled();
  }

  async addKeys(entry: Entry, rows: readonly KeyRow[]): Promise<void> {
    if (entry.keys.size + rows.length > CEILINGS.keysOfPool) {
      throw new DirectoryFullError(`A pool holds at most ${CEILINGS.keysOfPool} keys.`);
    }
    await this.#store.saveKeys(rows);
    for (const row of rows) entry.keys.add(row);
  }

  /** Revokes a key, and refuses who waits with it; false where the pool has none of this id. */
  async removeKey(entry: Entry, id: string): Promise<boolean> {
    if (!entry.keys.rows().some((row) => row.id === id)) return false;
    await this.#store.removeKey(entry.spec.name, id);
    const isGone = entry.keys.remove(id);
    this.#scheduler.dismiss(({ keyId }) => keyId === id ? unauthorized(KEY_GONE) : null);
    return isGone;
  }

  async setPause(entry: Entry, pause: Pause | null): Promise<void> {
    const row = { ...this.#row(entry.spec, entry), pause: this.#pauseText(pause) };
    await this.#store.savePools([row]);
    this.#scheduler.turn((nowMs, bouncer) => bouncer.setPause(nowMs, entry.pool, pause));
  }

  /** Writes down when keys were last used. */
  async saveUses(): Promise<void> {
    const { clock, keyUses } = this.#scheduler;
    keyUses.stamp(clock.nowMs());
    for (const { keys } of this.#entries.values()) {
      for (const [id, atMs] of keys.takeUses(clock.shiftMs)) this.#uses.set(id, atMs);
    }
    await this.#uses.save((uses) => this.#store.touchKeys(uses));
  }

  /** @throws HostTakenError where a host would have two pools after the changes, or is ours. */
  #checkHosts(changes: readonly PoolChange[]): void {
    const changed = new Set(changes.map(({ spec }) => spec.name));
    checkHosts(changes.map(({ spec }) => spec), {
      baseDomain: this.#baseDomain,
      others: [...this.#hosts].filter(([, owner]) => !changed.has(owner)),
    });
  }

  #apply(spec: PoolSpec, rest: Pick<Entry, 'keys' | 'createdAt' | 'isManaged'>): void {
    const before = this.#entries.get(spec.name)?.spec;
    this.#entries.set(spec.name, { spec, pool: this.#poolOf(spec), ...rest });
    if (before !== undefined) this.#dropHosts(before);
    this.#addHosts(spec);
  }

  #addHosts(spec: PoolSpec): void {
    for (const host of hostsOf(spec)) this.#hosts.set(host, spec.name);
  }

  /** Forgets a pool's hosts, but for those that are another pool's by now. */
  #dropHosts(spec: PoolSpec): void {
    for (const host of hostsOf(spec)) {
      if (this.#hosts.get(host) === spec.name) this.#hosts.delete(host);
    }
  }

  /** Waiters that the new rules would refuse leave before anything else of them applies. */
  #dismissWhoFails(changes: readonly PoolChange[]): void {
    const faults = new Map(changes.map(({ spec }) => [spec.name, this.#faultOf(spec)]));
    this.#scheduler.dismiss((attempt, pool) => unauthorized(faults.get(pool)?.(attempt) ?? null));
  }

  /** What fails of a pool's waiters under these rules by now. */
  #faultOf(spec: PoolSpec): ((standing: Standing) => string | null) | undefined {
    const known = this.#entries.get(spec.name);
    if (known === undefined) return undefined;
    return faultUnder(known.spec.access, { spec, keys: known.keys }, this.#epochMs());
  }

  /** The core's pool with these settings, new or changed. */
  #poolOf(spec: PoolSpec): Pool {
    const known = this.#entries.get(spec.name)?.pool;
    if (known === undefined) this.#scheduler.log.tally.forget(spec.name);
    return this.#scheduler.turn((nowMs, bouncer) => {
      if (known === undefined) return bouncer.create(nowMs, spec.name, { settings: spec });
      bouncer.configure(nowMs, known, spec);
      return known;
    });
  }

  #row(spec: PoolSpec, facts: Pick<Entry, 'createdAt' | 'isManaged'>): PoolRow {
    return {
      name: spec.name,
      settings: this.#seal(spec),
      createdAt: facts.createdAt,
      isManaged: facts.isManaged,
      pause: this.#pauseText(this.#entries.get(spec.name)?.pool.pause ?? null),
    };
  }

  #seal(spec: PoolSpec): string {
    if (this.#vault !== null) return this.#vault.sealSettings(spec.name, spec);
    const settings = JSON.stringify(spec);
    if (hasSecrets(settings)) throw new Error(`${spec.name}: no master key to seal its secrets`);
    return settings;
  }

  #specOf(row: PoolRow): PoolSpec {
    const read = PoolSpec.safeParse(this.#open(row));
    if (read.success) return read.data;
    const [issue] = issuesOf(read.error);
    throw damagedPoolError(row.name, `${issue?.path}: ${issue?.reason}`);
  }

  #open({ name, settings }: PoolRow): unknown {
    return this.#vault?.openSettings(name, settings) ?? JSON.parse(settings);
  }

  #pauseText(pause: Pause | null): string | null {
    return pauseText(pause, this.#scheduler.clock.shiftMs);
  }

  #epochMs(): number {
    return epochMsOf(this.#scheduler.clock);
  }
}

function unauthorized(reason: string | null) {
  return reason === null ? null : { code: 'unauthorized', reason } as const;
}

/** What makes of these keys those that are wanted; a row that was taken from them is as it was. */
function changesOf(rows: readonly KeyRow[], wanted: readonly KeyRow[] = rows): KeyChanges {
  const held = new Set(rows);
  const ids = new Set(wanted.map(({ id }) => id));
  return {
    saved: wanted.filter((row) => !held.has(row)),
    removed: rows.filter(({ id }) => !ids.has(id)),
  };
}
