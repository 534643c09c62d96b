/**
 * One run of wrk against a server, by a script that prints its result. Any status but 200 fails it.
 */
import type { Target } from './servers.ts';

export interface Load {
  readonly connections: number;
  readonly seconds: number;
}

export interface Run {
  readonly rate: number;
  readonly p50us: number;
  readonly p99us: number;
}

/** Acquire and release in turn. */
export async function load({ origin, args }: Target, how: Load): Promise<Run> {
  const result = await wrk(how, 'test/bench/locks/pair.lua', [origin, '--', ...args]);
  return { rate: result.requests / result.us * 1e6, p50us: result.p50us, p99us: result.p99us };
}

interface Result {
  readonly requests: number;
  readonly us: number;
  readonly p50us: number;
  readonly p99us: number;
}

export async function wrk(
  { connections, seconds }: Load,
  script: string,
  words: readonly string[],
): Promise<Result> {
  const { stdout, stderr, success } = await new Deno.Command('wrk', {
    args: ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, ...words],
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`wrk failed: ${text}${new TextDecoder().decode(stderr)}`);
  const result = JSON.parse(text.match(/RESULT (.*)/)?.[1] ?? '{}');
  if (result.bad > 0 || result.failed > 0) {
    throw new Error(`${result.bad} answers other than 200, ${result.failed} failed`);
  }
  return result;
}
