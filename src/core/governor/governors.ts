/**
 * The governors that a pool can have, by its concurrency mode.
 */
import type { PoolSettings } from '../settings.ts';
import type { Governor, Opening } from './governor.ts';

const OPEN: Opening = { kind: 'open' };

/** Makes the governor that the settings ask for. */
export function makeGovernor(settings: PoolSettings): Governor {
  return {
    limit: settings.concurrency.limit,
    dueAtMs: Infinity,
    opening: () => OPEN,
    started: () => {},
    ended: () => {},
    advance: () => {},
  };
}
