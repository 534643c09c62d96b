/**
 * The latency of acquire alone, on one raw connection: what a single caller waits for.
 */
import type { Target } from './servers.ts';

export interface Latencies {
  readonly p50us: number;
  readonly p99us: number;
}

/** Acquires and releases `count` times in turn and times the acquires. */
export async function acquireLatencies(target: Target, count: number): Promise<Latencies> {
  const [key, acquirePath, releaseStem] = target.args;
  const { hostname, port } = new URL(target.origin);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const call = async (path: string) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nX-Nthpool-Key: ${key}`;
    await connection.write(new TextEncoder().encode(`${head}\r\nContent-Length: 0\r\n\r\n`));
    const chunk = new Uint8Array(4096);
    const size = await connection.read(chunk) ?? 0;
    return new TextDecoder().decode(chunk.subarray(0, size));
  };
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    const text = await call(acquirePath);
    times.push((performance.now() - start) * 1000);
    const slotId = text.match(/"slotId":"([^"]+)"/)?.[1];
    if (slotId === undefined) throw new Error(`acquire: ${text.split('\r\n')[0]}`);
    await call(`${releaseStem}${slotId}/release`);
  }
  connection.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(count * share)] ?? NaN;
  return { p50us: at(0.5), p99us: at(0.99) };
}
