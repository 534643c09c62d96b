/** What a scheduler tells its process, where the test does not listen: a fault alone is thrown. */
import type { SchedulerEvents } from '../../src/scheduler/scheduler.ts';

export const QUIET: SchedulerEvents = {
  lapsed: () => {},
  storeFailing: () => {},
  storeRecovered: () => {},
  storeLost: () => {},
  broken: (error) => {
    throw error;
  },
};
