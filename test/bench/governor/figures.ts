/**
 * The figures of a run, and their medians over seeds. All come from the successes and refusals that
 * the workers saw; none looks at a limiter's inside.
 */
import { integrate, type Scenario } from './scenario.ts';
import type { Run } from './simulation.ts';

const TARGET = 0.9;
const STEP_MS = 1000;

export interface Figures {
  readonly goodput: number;
  readonly refused: number;
  readonly refusedShare: number;
  readonly convergeMs: number | null;
  readonly recoverMs: number | null;
  readonly jain: number;
  readonly latencyP95Ms: number | null;
}

export function measure(scenario: Scenario, run: Run): Figures {
  const { successes, refused } = run;
  const { perSecond, extra } = scenario.ideal;
  const ideal = integrate(perSecond, 0, scenario.durationMs) + extra;
  const latencies = successes.map((success) => success.latencyMs).sort((a, b) => a - b);
  const answers = successes.length + refused;
  return {
    goodput: successes.length / ideal,
    refused,
    refusedShare: answers === 0 ? 0 : refused / answers,
    convergeMs: reachedAfterMs(scenario, run, scenario.measureFromMs ?? 0),
    recoverMs: scenario.eventAtMs === undefined
      ? null
      : reachedAfterMs(scenario, run, scenario.eventAtMs),
    jain: jain(scenario, run),
    latencyP95Ms: latencies[Math.ceil(latencies.length * 0.95) - 1] ?? null,
  };
}

/** Ms from `fromMs` to the first window in which successes reach 0.9 of the ideal, or null. */
function reachedAfterMs(scenario: Scenario, run: Run, fromMs: number): number | null {
  const { windowMs, durationMs, ideal } = scenario;
  const instants = run.successes.map((success) => success.atMs);
  let first = 0;
  let past = 0;
  for (let startMs = fromMs; startMs + windowMs <= durationMs; startMs += STEP_MS) {
    while (first < instants.length && instants[first]! < startMs) first += 1;
    while (past < instants.length && instants[past]! < startMs + windowMs) past += 1;
    const wanted = TARGET * integrate(ideal.perSecond, startMs, startMs + windowMs);
    if (past - first >= wanted) return startMs - fromMs;
  }
  return null;
}

/** Jain's index of the instances where there are several, else of the clients. */
function jain(scenario: Scenario, run: Run): number {
  const byInstance = scenario.instances.length > 1;
  const counts = new Array<number>(byInstance ? scenario.instances.length : 4).fill(0);
  for (const success of run.successes) {
    if (success.atMs < (scenario.fairFromMs ?? 0)) continue;
    const party = byInstance ? success.instance : success.client;
    counts[party] = (counts[party] ?? 0) + 1;
  }
  const sum = counts.reduce((total, count) => total + count, 0);
  const squares = counts.reduce((total, count) => total + count * count, 0);
  return squares === 0 ? 1 : (sum * sum) / (counts.length * squares);
}

/** The median of each figure over several runs; a run that never got there counts as never. */
export function medians(runs: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number | null): number | null => {
    const values = runs.map((run) => pick(run) ?? Infinity).sort((a, b) => a - b);
    const middle = values.length >> 1;
    const value = values.length % 2 === 1
      ? values[middle]!
      : (values[middle - 1]! + values[middle]!) / 2;
    return Number.isFinite(value) ? value : null;
  };
  return {
    goodput: round(of((run) => run.goodput) ?? 0, 4),
    refused: round(of((run) => run.refused) ?? 0, 1),
    refusedShare: round(of((run) => run.refusedShare) ?? 0, 5),
    convergeMs: of((run) => run.convergeMs),
    recoverMs: of((run) => run.recoverMs),
    jain: round(of((run) => run.jain) ?? 0, 4),
    latencyP95Ms: roundOrNull(of((run) => run.latencyP95Ms), 1),
  };
}

function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}

function roundOrNull(value: number | null, digits: number): number | null {
  return value === null ? null : round(value, digits);
}
