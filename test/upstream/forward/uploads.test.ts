/** The body of a request on its way to the upstream, and answers that come meanwhile. */
import { expect, it, vi } from 'vitest';
import { Connection } from '../../../src/http1/connection.ts';
import { latin1Bytes } from '../../../src/http1/head.ts';
import { IncomingBody, sourceOf } from '../../../src/http1/incoming_body.ts';
import { settled } from '../../support/caller.ts';
import { MemoryLine } from '../../support/lines.ts';
import { bench, HEAD } from './bench.ts';

/** Tells writes alone of a reset, as sockets do where one is under way. */
class SilentLine extends MemoryLine {
  override read(into: Uint8Array): Promise<number | null> {
    return super.read(into).catch(() => null);
  }
}

it('a body is sent as it is framed', async () => {
  const body = () => sourceOf(latin1Bytes('hello'));
  for (const [bodyBytes, sent] of [[5, 'hello'], [null, '5\r\nhello\r\n0\r\n\r\n']] as const) {
    const { lines, exchange } = bench();
    const answer = exchange({ body: body(), bodyBytes }).answer();
    await vi.waitFor(() => expect(lines[0]?.sent).toBe(HEAD + sent));
    lines[0]?.gives('HTTP/1.1 204 X\r\n\r\n');
    expect((await answer).status).toBe(204);
  }
});

it('some of a body is read ahead that the upstream does not take, and its end heard', async () => {
  for (const [pieces, isHeard] of [[3, true], [100, false]] as const) {
    const { lines, exchange } = bench();
    let isGone = false;
    let leave = () => {};
    const gone = new Promise<never>((_, reject) => leave = () => reject(new Error('gone')));
    gone.catch(() => {});
    let pulled = 0;
    const read = () => {
      lines[0]!.bytesMax = HEAD.length + 1000;
      const isThere = pulled++ < pieces && !isGone;
      return isThere ? Promise.resolve(new Uint8Array(65_536)) : gone;
    };
    const answer = exchange({ body: { read }, bodyBytes: 100_000_000 }).answer();
    answer.catch(() => {});
    await vi.waitFor(() => expect(pulled).toBeGreaterThan(3));
    await settled();
    expect(pulled).toBeLessThan(10);
    isGone = true;
    leave();
    await settled();
    expect(lines[0]?.isClosed).toBe(isHeard);
    if (isHeard) await expect(answer).rejects.toMatchObject({ cut: 'gone' });
  }
});

it.each([
  ['a chunk line', '1;abcdef=ghijkl\r\n'],
  ['the trailers', '1\r\nx\r\n0\r\nx-trailer: yes\r\n'],
])('a caller that sends %s byte by byte is not stalled', async (_, text) => {
  const caller = new MemoryLine();
  const body = new IncomingBody(new Connection(caller), { bytes: null, isAwaited: false });
  const { lines, exchange, clock } = bench();
  const one = exchange({ body, bodyBytes: null });
  const answer = one.answer();
  answer.catch(() => {});
  await vi.waitFor(() => expect(lines[0]?.sent).toBe(HEAD));
  for (const byte of text) {
    one.look(clock.nowMs += 3000);
    caller.gives(byte);
    await settled();
  }
  expect(lines[0]?.isClosed).toBe(false);
  one.look(clock.nowMs += 3000);
  one.look(clock.nowMs += 5000);
  await expect(answer).rejects.toMatchObject({ cut: 'stall' });
});

it('a request ends where its caller sends less than it said', async () => {
  const { lines, exchange } = bench();
  const answer = exchange({ body: sourceOf(latin1Bytes('hel')), bodyBytes: 5 }).answer();
  await expect(answer).rejects.toMatchObject({ cut: 'gone' });
  expect(lines[0]?.isClosed).toBe(true);
});

it.each(
  [
    ['is cut off where the upload met a reset', 'reset', false],
    ['is whole where the upstream ended it', 'end', true],
  ] as const,
)('an answer that ends with its connection %s', async (_, end, isWhole) => {
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
