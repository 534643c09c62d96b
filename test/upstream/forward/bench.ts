/**
 * The forwarding side on lines in memory, without a server; time stands still unless it is moved.
 */
import { vi } from 'vitest';
import { Connections } from '../../../src/upstream/forward/connections.ts';
import type { Call } from '../../../src/upstream/forward/exchange.ts';
import { Exchange } from '../../../src/upstream/forward/exchange.ts';
import type { Guard } from '../../../src/upstream/forward/guard.ts';
import { MemoryLine } from '../../support/lines.ts';

export const ORIGIN = { hostname: 'up.test', port: 80, isTls: false };
export const LIMITS = { connectTimeoutMs: 1000, stallTimeoutMs: 5000, requestTimeoutMs: null };
/** Of a dial that is not given up. */
export const WAITED_FOR = new AbortController().signal;
export const HEAD = 'GET / HTTP/1.1\r\nhost: up.test\r\n\r\n';

/** @param newLine what each dial gives. */
export function bench(newLine: () => MemoryLine = () => new MemoryLine()) {
  const lines: MemoryLine[] = [];
  const clock = { nowMs: 1000 };
  const nowMs = () => clock.nowMs;
  const dial = vi.fn(() => {
    const line = newLine();
    lines.push(line);
    return Promise.resolve(line);
  });
  const connections = new Connections({ dial, nowMs });
  const guard = { add() {}, remove() {} } as unknown as Guard;
  const exchange = (more: Partial<Call> = {}) =>
    new Exchange({
      origin: ORIGIN,
      method: 'GET',
      head: HEAD,
      body: null,
      bodyBytes: null,
      limits: LIMITS,
      ...more,
    }, { connections, guard, nowMs });
  return { lines, clock, dial, connections, exchange };
}
