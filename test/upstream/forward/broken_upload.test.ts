/** An answer that ends with its connection, while its request's body is still being sent. */
import { expect, it } from 'vitest';
import { latin1Bytes } from '../../../src/http1/head.ts';
import { sourceOf } from '../../../src/http1/incoming_body.ts';
import { Connections } from '../../../src/upstream/forward/connections.ts';
import { Exchange } from '../../../src/upstream/forward/exchange.ts';
import type { Guard } from '../../../src/upstream/forward/guard.ts';
import { MemoryLine } from '../../support/lines.ts';
import { HEAD, LIMITS, ORIGIN } from './bench.ts';

/** Tells writes alone of a reset, as sockets do where one is under way. */
class SilentLine extends MemoryLine {
  override read(into: Uint8Array): Promise<number | null> {
    return super.read(into).catch(() => null);
  }
}

it.each(
  [
    ['is cut off where the upload met a reset', 'reset', false],
    ['is whole where the upstream ended it', 'end', true],
  ] as const,
)('%s', async (_, end, isWhole) => {
  const line = new SilentLine();
  line.bytesMax = HEAD.length + 10;
  const connections = new Connections({ dial: () => Promise.resolve(line), nowMs: () => 0 });
  const guard = { add() {}, remove() {} } as unknown as Guard;
  const body = sourceOf(latin1Bytes('x'.repeat(100)));
  const call = { origin: ORIGIN, method: 'POST', head: HEAD, body, bodyBytes: 100, limits: LIMITS };
  const exchange = new Exchange(call, { connections, guard, nowMs: () => 0 });
  line.gives('HTTP/1.1 200 OK\r\n\r\npart');
  await exchange.answer();
  expect((await exchange.next())?.length).toBe(4);
  line.ends(end);
  const last = exchange.next();
  if (isWhole) expect(await last).toBeNull();
  else await expect(last).rejects.toThrow(/a body that broke off/);
  expect(exchange.isEnded).toBe(isWhole);
});
