/** Makes a pool's governor, fresh or from what an earlier one saved. */
import type { Governor, GovernorSettings, Saved } from './governor.ts';
import { PoolGovernor } from './pool_governor.ts';

export interface GovernorOptions {
  readonly nowMs: number;
  readonly random: () => number;
  readonly saved?: Saved;
}

export function makeGovernor(settings: GovernorSettings, options: GovernorOptions): Governor {
  return new PoolGovernor(settings, options);
}
