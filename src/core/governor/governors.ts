/**
 * Makes a pool's governor, fresh or from what an earlier one saved. There is one kind: its `fixed`
 * and `adaptive` modes differ in whether the level moves, and may be switched while it runs.
 */
import type { Governor, GovernorSettings } from './governor.ts';
import { type GovernorOptions, PoolGovernor } from './pool_governor.ts';

export function makeGovernor(settings: GovernorSettings, options: GovernorOptions): Governor {
  return new PoolGovernor(settings, options);
}
