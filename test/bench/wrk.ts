/**
 * A run of wrk, and what it says of the time that requests took. wrk tells no percentile of those
 * that were sent: for one that took long it adds those that its caller would have sent meanwhile,
 * had it gone on at the average pace (`stats_correct` in its stats.c). Both are worth knowing.
 */

export interface Load {
  readonly connections: number;
  readonly seconds: number;
}

export interface Run {
  readonly requests: number;
  /** Requests a second. */
  readonly rate: number;
  readonly p50us: number;
  /** The slowest hundredth of the requests that were sent. */
  readonly p99us: number;
  /** The same with those that wrk adds. */
  readonly p99evenUs: number;
}

interface Result {
  readonly requests: number;
  readonly us: number;
  readonly bad: number;
  readonly failed: number;
  readonly times: readonly Times[];
}

/** How many requests took so long, the shortest time first. */
type Times = readonly [us: number, count: number];

/**
 * @param script a Lua file, which ends with what `wrk.lua` tells.
 * @param words what stands behind the options: the URL, and what the script is called with.
 * @throws where a request fails, or is answered as it should not be.
 */
export async function wrk(
  { connections, seconds }: Load,
  script: string,
  words: readonly string[],
): Promise<Run> {
  const { stdout, stderr, success } = await new Deno.Command('wrk', {
    args: ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, ...words],
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`wrk failed: ${text}${new TextDecoder().decode(stderr)}`);
  const result = JSON.parse(text.match(/RESULT (.*)/)?.[1] ?? '{}') as Result;
  if (result.bad > 0 || result.failed > 0) {
    throw new Error(`${result.bad} answers other than 200, ${result.failed} failed`);
  }
  const sent = sentOf(result, connections);
  return {
    requests: result.requests,
    rate: result.requests / result.us * 1e6,
    p50us: percentile(sent, 0.5),
    p99us: percentile(sent, 0.99),
    p99evenUs: percentile(result.times, 0.99),
  };
}

/** What is left when those are taken away that wrk added: each stands `everyUs` below another. */
function sentOf({ requests, us, times }: Result, connections: number): Times[] {
  const everyUs = Math.trunc(us / Math.trunc(requests / connections));
  const counts = new Map(times);
  const sent = times.map(([timeUs, count]): Times => {
    const added = timeUs > everyUs ? counts.get(timeUs + everyUs) ?? 0 : 0;
    return [timeUs, count - added];
  });
  const sum = sent.reduce((total, [, count]) => total + count, 0);
  if (sum !== requests) throw new Error(`wrk sent ${requests} requests and timed ${sum}`);
  return sent;
}

function percentile(times: readonly Times[], share: number): number {
  const wanted = share * times.reduce((total, [, count]) => total + count, 0);
  let seen = 0;
  for (const [us, count] of times) {
    seen += count;
    if (seen > wanted) return us;
  }
  return NaN;
}
