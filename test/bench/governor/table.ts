/**
 * The benchmark's rows as text: one table a figure, scenarios down, limiters across. The last lines
 * sum up over the scenarios that the means are taken over.
 */
import type { Row } from './bench.ts';

export interface TableOptions {
  /** The scenarios that the means are taken over, and those with an event to recover from. */
  readonly counted: ReadonlySet<string>;
  readonly recovering: ReadonlySet<string>;
}

export function table(rows: readonly Row[], { counted, recovering }: TableOptions): string {
  const limiters = [...new Set(rows.map((row) => row.limiter))];
  const scenarios = [...new Set(rows.map((row) => row.scenario))];
  const find = (scenario: string, limiter: string) =>
    rows.find((row) => row.scenario === scenario && row.limiter === limiter);
  const grid = (title: string, show: (row: Row) => string) => [
    '',
    title,
    line(['', ...limiters]),
    ...scenarios.map((scenario) =>
      line([
        scenario,
        ...limiters.map((limiter) => {
          const row = find(scenario, limiter);
          return row ? show(row) : '';
        }),
      ])
    ),
  ];
  const sums = limiters.map((limiter) => {
    const own = rows.filter((row) => row.limiter === limiter && counted.has(row.scenario));
    const goodput = own.reduce((sum, row) => sum + row.goodput, 0) / Math.max(1, own.length);
    const refused = own.reduce((sum, row) => sum + row.refused, 0);
    return { goodput: goodput.toFixed(4), refused: String(refused) };
  });
  return [
    ...grid(
      'goodput / refused share',
      (row) => `${row.goodput.toFixed(3)} ${(row.refusedShare * 100).toFixed(2)}%`,
    ),
    ...grid('refused calls', (row) => String(row.refused)),
    ...grid(
      'seconds to converge / recover',
      (row) =>
        recovering.has(row.scenario)
          ? `${seconds(row.convergeMs)} / ${seconds(row.recoverMs)}`
          : seconds(row.convergeMs),
    ),
    ...grid(
      'Jain / latency p95 ms',
      (row) =>
        `${row.jain.toFixed(3)} ${row.latencyP95Ms === null ? '-' : row.latencyP95Ms.toFixed(0)}`,
    ),
    '',
    line(['mean goodput', ...sums.map((sum) => sum.goodput)]),
    line(['refused, sum', ...sums.map((sum) => sum.refused)]),
  ].join('\n');
}

function seconds(ms: number | null): string {
  return ms === null ? 'never' : String(Math.round(ms / 1000));
}

function line(cells: readonly string[]): string {
  return cells.map((cell, index) => index === 0 ? cell.padEnd(20) : cell.padStart(15)).join('')
    .trimEnd();
}
