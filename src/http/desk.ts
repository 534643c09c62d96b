/**
 * What the server keeps for the people who run it, beside what its callers need: measures of the
 * process, and who may read them.
 */
import { Lag } from '../scheduler/lag.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';

export interface Desk {
  readonly lag: Lag;
  /** Lower-case hex SHA-256 of the token that opens `/metrics` alone; null: there is none. */
  readonly metricsHash: string | null;
  readonly start: () => void;
  readonly stop: () => void;
}

export interface DeskParts {
  readonly scheduler: Scheduler;
  readonly metricsHash: string | null;
}

export function makeDesk({ scheduler, metricsHash }: DeskParts): Desk {
  const lag = new Lag(scheduler.clock);
  return { lag, metricsHash, start: () => lag.start(), stop: () => lag.stop() };
}
