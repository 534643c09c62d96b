/**
 * What the HTTP side stands on: handed to every route by the composition root.
 */
import type { Deadlines } from '../scheduler/deadlines.ts';
import type { Directory } from '../scheduler/directory.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Store } from '../store/store.ts';

export interface Server {
  readonly scheduler: Scheduler;
  readonly directory: Directory;
  readonly store: Store;
  readonly deadlines: Deadlines;
  /** Lower-case hex SHA-256 of the admin token. */
  readonly adminHash: string;
  /** Every host one label below it is a pool's. */
  readonly baseDomain: string;
  /** Version, runtime, schema and uptime, as the administration shows them. */
  readonly describe: () => Readonly<Record<string, unknown>>;
}

/** Where a request came from, as the runtime tells it. */
export interface Peer {
  readonly remoteAddr: { readonly transport: string; readonly hostname?: string };
}

/** Epoch ms on the wire. */
export function epochMs({ scheduler }: Server): number {
  return scheduler.clock.nowMs() + scheduler.clock.shiftMs;
}
