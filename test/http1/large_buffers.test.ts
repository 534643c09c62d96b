import { expect, it } from 'vitest';
import { Connection } from '../../src/http1/connection.ts';
import { LARGE_BYTES, largeBuffers } from '../../src/http1/large_buffers.ts';
import { answersIn, ok, serve, settled } from '../support/caller.ts';
import { MemoryLine } from '../support/lines.ts';

const GET = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n';

it('lends a buffer to one at a time, and again once it was given back', () => {
  const first = largeBuffers.take();
  const second = largeBuffers.take();
  expect(second.buffer).not.toBe(first.buffer);
  largeBuffers.giveBack(first.subarray(0, 10));
  largeBuffers.giveBack(first);
  const third = largeBuffers.take();
  expect(third.length).toBe(LARGE_BYTES);
  expect(third.buffer).toBe(first.buffer);
  expect(largeBuffers.take().buffer).not.toBe(first.buffer);
});

it('leaves one to who keeps it', () => {
  const kept = largeBuffers.take();
  largeBuffers.keep(kept);
  largeBuffers.giveBack(kept);
  expect(largeBuffers.take().buffer).not.toBe(kept.buffer);
});

it('takes no buffer that it has not lent', () => {
  const own = new Uint8Array(LARGE_BYTES);
  largeBuffers.giveBack(own);
  expect(largeBuffers.take().buffer).not.toBe(own.buffer);
});

it('keeps 4 MiB at most', () => {
  const taken = Array.from({ length: 100 }, () => largeBuffers.take());
  for (const bytes of taken) largeBuffers.giveBack(bytes);
  const again = Array.from({ length: 100 }, () => largeBuffers.take());
  const known = new Set(taken.map(({ buffer }) => buffer));
  expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(32);
});

it('a piece holds at most twice its bytes', async () => {
  const line = new MemoryLine();
  const connection = new Connection(line);
  // The first piece fills the small buffer; the others are read past it.
  for (const bytes of [8192, 8192, 70_000, 65_536, LARGE_BYTES]) {
    line.gives(new Uint8Array(bytes));
    const piece = await connection.piece(Infinity) as Uint8Array;
    expect(piece.length).toBe(bytes);
    expect(piece.buffer.byteLength).toBeLessThanOrEqual(2 * bytes);
  }
});

it('answers that pass at once never mix, however slowly they are taken', async () => {
  const bytes = 400_000;
  const served = Array.from({ length: 20 }, (_, at) => {
    const body = new Uint8Array(bytes).fill(97 + at);
    const source = new Connection(new MemoryLine().gives(body).ends());
    const next = () => source.piece(Infinity);
    return serve(() => ok({ bytes, next, cancel: () => {} }));
  });
  for (const { line } of served) line.gives(GET);
  await Promise.all(served.map(async ({ line }) => {
    while (line.sent.length < bytes) await settled();
  }));
  await settled();
  served.forEach(({ line }, at) => {
    const letters = String.fromCharCode(97 + at).repeat(bytes);
    expect(answersIn(line.sent)[0]?.body === letters, `answer ${at}`).toBe(true);
  });
});
