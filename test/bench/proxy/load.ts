/**
 * One run of h2load against a target, and what its log of every request says. wrk tells no
 * percentile of the requests that were sent: it adds those that a stall kept from being sent. That
 * figure, too, is worth having, so both are made here from the same requests.
 */

export interface Run {
  readonly rate: number;
  /** The slowest hundredth of the requests. */
  readonly p99ms: number;
  /** The same among those that would have been sent at an even pace. */
  readonly p99evenMs: number;
}

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
}

/** @throws where a request fails, or is answered by anything but 200. */
export async function load({ url, connections, seconds }: Load): Promise<Run> {
  const log = await Deno.makeTempFile();
  try {
    const { success, stderr } = await new Deno.Command('h2load', {
      args: ['--h1', '-t1', `-c${connections}`, `-D${seconds}`, `--log-file=${log}`, url],
      stdout: 'null',
    }).output();
    if (!success) throw new Error(`h2load ${url}: ${new TextDecoder().decode(stderr)}`);
    return runOf(timesUs(await Deno.readTextFile(log), url), { connections, seconds });
  } finally {
    await Deno.remove(log);
  }
}

/** A line for each request: when it began, its status, how long it took in us. */
function timesUs(log: string, url: string): number[] {
  const rows = log.trimEnd().split('\n').map((line) => line.split('\t').map(Number));
  const other = rows.find(([, status]) => status !== 200);
  if (other !== undefined) throw new Error(`${url} answered ${other[1]} instead of 200`);
  return rows.map(([, , timeUs = NaN]) => timeUs);
}

function runOf(timesUs: number[], { connections, seconds }: Omit<Load, 'url'>): Run {
  const everyUs = seconds * 1e6 * connections / timesUs.length;
  return {
    rate: timesUs.length / seconds,
    p99ms: p99(timesUs) / 1000,
    p99evenMs: p99(timesUs.flatMap((timeUs) => withUnsent(timeUs, everyUs))) / 1000,
  };
}

/** As wrk has it: a caller that waits for so long would have sent one more every `everyUs`. */
function withUnsent(timeUs: number, everyUs: number): number[] {
  const times = [timeUs];
  if (timeUs < 2 * everyUs) return times;
  for (let us = timeUs - everyUs; us > everyUs; us -= everyUs) times.push(us);
  return times;
}

function p99(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;
}
