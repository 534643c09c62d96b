/** An answer that ends with its connection, while its request's body is still being sent. */
import { expect, it } from 'vitest';
import { latin1Bytes } from '../../../src/http1/head.ts';
import { sourceOf } from '../../../src/http1/incoming_body.ts';
import { MemoryLine } from '../../support/lines.ts';
import { bench, HEAD } from './bench.ts';

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
  const body = sourceOf(latin1Bytes('x'.repeat(100)));
  const exchange = bench(() => line).exchange({ method: 'POST', body, bodyBytes: 100 });
  line.gives('HTTP/1.1 200 OK\r\n\r\npart');
  await exchange.answer();
  expect((await exchange.next())?.length).toBe(4);
  line.ends(end);
  const last = exchange.next();
  if (isWhole) expect(await last).toBeNull();
  else await expect(last).rejects.toThrow(/a body that broke off/);
  expect(exchange.isEnded).toBe(isWhole);
});
