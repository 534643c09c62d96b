import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runScenario } from './bench.ts';
import { LIMITERS } from './limiters.ts';
import { integrate, type Scenario, type ScenarioFile, stepAt } from './scenario.ts';

const SEED = 7;

const file = JSON.parse(
  readFileSync(new URL('./scenarios.json', import.meta.url), 'utf8'),
) as ScenarioFile;
const all = [...file.scenarios, ...file.variants, ...(file.additions ?? [])];

function scenario(name: string): Scenario {
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`no scenario ${name}`);
  return found;
}

function run(name: string, limiter = 'nthbouncer') {
  return runScenario(scenario(name), [limiter, LIMITERS[limiter]!], [SEED]);
}

describe('the shipped governor, simulated', () => {
  test.each([
    ['cap', 0.92, 0.01],
    ['capDrop', 0.9, 0.01],
    ['fixedRpm', 0.99, 0],
    ['sliding', 0.95, 0.025],
    ['bucket', 0.98, 0.02],
    ['daily', 0.99, 0.03],
    ['lying', 0.93, 0.01],
    ['mixed', 0.93, 0.04],
    ['cap3', 0.92, 0.015],
    ['capSlow', 0.92, 0.03],
    ['bucket2', 0.95, 0.045],
    ['restartSliding', 0.95, 0.03],
    ['tokenHeaders', 0.95, 0.01],
    ['tokensReserved', 0.88, 0.002],
    ['tokensReservedSliding', 0.85, 0.04],
    ['strict10', 0.7, 0.015],
    ['strict20RetryAfter', 0.6, 0.01],
    ['faults1s', 0.95, 0.001],
    ['faults5s', 0.85, 0.001],
    ['faultsOften', 0.75, 0.01],
    ['faultsLong', 0.55, 0.005],
    ['cap12Faults', 0.55, 0.025],
    ['alone', 0.78, 0.07],
    ['aloneBurst', 0.95, 0.05],
    ['cap3RetryAfter', 0.9, 0.01],
    ['cap2FastRetryAfter', 0.88, 0.003],
    ['cap16LongRetryAfter', 0.9, 0.001],
    ['cap4DropRetryAfter', 0.85, 0.01],
    ['slowStrict', 0.5, 0.12],
    ['slowStrictRetryAfter', 0.5, 0.1],
    ['slowCap2', 0.95, 0.07],
  ])('%s: goodput at least %d, refused at most %d of the calls', (name, goodput, refused) => {
    const row = run(name);
    expect(row.goodput).toBeGreaterThanOrEqual(goodput);
    expect(row.refusedShare).toBeLessThanOrEqual(refused);
  });

  test('latency: holds below the knee without any refusal to learn from', () => {
    const row = run('latency');
    expect(row.goodput).toBeGreaterThan(0.9);
    expect(row.latencyP95Ms).toBeLessThanOrEqual(320);
  });

  test('lost leases count as in flight and do not shrink the level to nothing', () => {
    expect(run('lostLeases').goodput).toBeGreaterThan(0.75);
  });

  test('the same seed gives the same row to the byte', () => {
    expect(JSON.stringify(run('idle'))).toBe(JSON.stringify(run('idle')));
  });
});

describe('the simulated world', () => {
  test('no limiter fills a cap and is refused half of the time; a low fixed limit is not', () => {
    const none = run('cap', 'none');
    expect(none.goodput).toBeGreaterThan(0.94);
    expect(none.refusedShare).toBeGreaterThan(0.5);
    const fixed = run('cap', 'fixed10');
    expect(fixed.refused).toBe(0);
    expect(fixed.goodput).toBeCloseTo(0.78, 1);
  });

  test('refusals that count keep an upstream shut for who never holds back', () => {
    expect(run('lying', 'none').goodput).toBeLessThan(0.1);
  });

  test('step functions: the value at an instant, and the sum over a span', () => {
    const steps = [[0, 10], [1000, 0], [3000, 4]] as const;
    expect([0, 999, 1000, 5000].map((atMs) => stepAt(steps, atMs))).toEqual([10, 10, 0, 4]);
    expect(integrate(steps, 500, 4000)).toBeCloseTo(5 + 0 + 4);
  });
});
