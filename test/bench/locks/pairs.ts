import { type Load, type Run, wrk } from '../wrk.ts';
import type { Target } from './servers.ts';

/** Acquire and release in turn. Any status but 200 fails the run. */
export function runPairs({ origin, args }: Target, how: Load): Promise<Run> {
  return wrk(how, 'test/bench/locks/pair.lua', [origin, '--', ...args]);
}
