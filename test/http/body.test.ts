/** Reading bodies within their size, their time, and what all large ones may hold together. */
import { describe, expect, test } from 'vitest';
import { ByteBudget, readBytes } from '../../src/http/body.ts';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { LoopClock } from '../support/manual_clock.ts';

const KIB = 1024;

function sending(...sizes: number[]): Request {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const size = sizes[at++];
      if (size === undefined) controller.close();
      else if (size > 0) controller.enqueue(new Uint8Array(size));
      else return new Promise(() => {});
    },
  });
  return new Request('http://x/', { method: 'POST', body, duplex: 'half' } as RequestInit);
}

describe('readBytes', () => {
  test('tells a body that is too large, whole or in pieces', async () => {
    const deadlines = new Deadlines(new LoopClock());
    const read = (request: Request) => readBytes(request, { bytesMax: 10, deadlines });
    expect((await read(sending(5, 5))).kind).toBe('bytes');
    expect((await read(sending(5, 6))).kind).toBe('too_large');
    const headers = { 'content-length': '11' };
    const declared = new Request('http://x/', { method: 'POST', headers, body: 'x' });
    expect((await read(declared)).kind).toBe('too_large');
  });

  test('gives up on a body that does not come in time', async () => {
    const clock = new LoopClock();
    const deadlines = new Deadlines(clock);
    const read = readBytes(sending(5, 0), { bytesMax: 10, deadlines });
    await clock.pass(11_000);
    expect(await read).toEqual({ kind: 'bad', reason: 'The body did not arrive in time.' });
  });

  test('lets large bodies hold no more than the budget, small ones any time', async () => {
    const clock = new LoopClock();
    const deadlines = new Deadlines(clock);
    const budget = new ByteBudget(100 * KIB);
    const options = { bytesMax: 1024 * KIB, deadlines, budget };
    const slow = readBytes(sending(64 * KIB, 90 * KIB, 0), options);
    await clock.settle();
    expect((await readBytes(sending(64 * KIB, 20 * KIB), options)).kind).toBe('crowded');
    expect((await readBytes(sending(64 * KIB), options)).kind).toBe('bytes');
    expect((await readBytes(sending(64 * KIB, 10 * KIB), options)).kind).toBe('bytes');
    expect((await readBytes(sending(64 * KIB, 10 * KIB), options)).kind).toBe('bytes');
    void slow;
  });
});
