/**
 * Runs scenarios against limiters over seeds and gives one row each, in a fixed order. The same
 * input gives the same rows to the byte.
 */
import { type Figures, measure, medians } from './figures.ts';
import type { MakeLimiter } from './limiter.ts';
import type { Scenario } from './scenario.ts';
import { simulate } from './simulation.ts';

export interface Row extends Figures {
  readonly scenario: string;
  readonly limiter: string;
}

export function runScenario(
  scenario: Scenario,
  limiter: readonly [name: string, make: MakeLimiter],
  seeds: readonly number[],
): Row {
  const [name, make] = limiter;
  const runs = seeds.map((seed) => measure(scenario, simulate(scenario, make, seed)));
  return { scenario: scenario.name, limiter: name, ...medians(runs) };
}
