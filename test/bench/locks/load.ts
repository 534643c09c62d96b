/**
 * One run of wrk against a target: acquire and release in turn. Any status but 200 fails it.
 */
import type { Target } from './servers.ts';

export interface Run {
  readonly rate: number;
  readonly p50us: number;
  readonly p99us: number;
}

export async function load(
  target: Target,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<Run> {
  const { stdout, stderr, success } = await new Deno.Command('wrk', {
    args: [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--latency',
      '-s',
      'test/bench/locks/pair.lua',
      target.origin,
      '--',
      ...target.args,
    ],
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`wrk failed: ${text}${new TextDecoder().decode(stderr)}`);
  const result = JSON.parse(text.match(/RESULT (.*)/)?.[1] ?? '{}');
  if (result.bad > 0 || result.failed > 0) {
    throw new Error(`${result.bad} answers other than 200, ${result.failed} failed`);
  }
  return { rate: result.requests / result.us * 1e6, p50us: result.p50us, p99us: result.p99us };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
