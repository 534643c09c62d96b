/**
 * What the HTTP side stands on: handed to every route by the composition root.
 */
import { epochMsOf, steadyEpochMsOf } from '../scheduler/clock.ts';
import type { Access } from '../access/access.ts';
import type { PeerSource } from '../access/peer_address.ts';
import type { Deadlines } from '../scheduler/deadlines.ts';
import type { Directory } from '../scheduler/directory.ts';
import type { GovernorKeeper } from '../scheduler/governor_keeper.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Store } from '../store/store.ts';
import type { Desk } from './desk.ts';
import type { Forwarding } from './forwarding.ts';

export interface Server {
  readonly scheduler: Scheduler;
  readonly directory: Directory;
  readonly governors: GovernorKeeper;
  readonly store: Store;
  readonly deadlines: Deadlines;
  readonly forwarding: Forwarding;
  /** Who may call. */
  readonly access: Access;
  /** Lower-case hex SHA-256 of the admin token. */
  readonly adminHash: string;
  readonly desk: Desk;
  /** Whether it speaks TLS itself; what a request's target says of it is the caller's word. */
  readonly isTls: boolean;
  /** Every host one label below it is a pool's. */
  readonly baseDomain: string;
  /** Version, runtime, schema and uptime, as the administration shows them. */
  readonly describe: () => Readonly<Record<string, unknown>>;
}

/** Where a request came from, as the runtime tells it. */
export type Peer = PeerSource;

/** Now on the core's clock, and what makes epoch ms of its instants. */
export function instant({ scheduler: { clock } }: Server): { nowMs: number; shiftMs: number } {
  return { nowMs: clock.nowMs(), shiftMs: clock.shiftMs };
}

/** Epoch ms on the wire. */
export function epochMs({ scheduler }: Server): number {
  return epochMsOf(scheduler.clock);
}

/** Epoch ms by which what is old enough is forgotten. */
export function steadyEpochMs({ scheduler }: Server): number {
  return steadyEpochMsOf(scheduler.clock);
}
