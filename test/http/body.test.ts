/** Reading bodies within their size, their time, and what all large ones may hold together. */
import { describe, expect, test } from 'vitest';
import { readBytes } from '../../src/http/body.ts';
import { ByteBudget } from '../../src/http1/byte_budget.ts';
import type { BodySource } from '../../src/http1/incoming_body.ts';
import { Deadlines } from '../../src/scheduler/deadlines.ts';
import { LoopClock } from '../support/manual_clock.ts';

const KIB = 1024;

/** A body of pieces of these sizes; 0 never comes. */
function sending(...sizes: number[]): BodySource {
  let at = 0;
  return {
    read: () => {
      const size = sizes[at++];
      if (size === undefined) return Promise.resolve(null);
      return size > 0 ? Promise.resolve(new Uint8Array(size)) : new Promise(() => {});
    },
  };
}

describe('readBytes', () => {
  test('tells a body that is too large, whole or in pieces, and reads no more of it', async () => {
    const deadlines = new Deadlines(new LoopClock());
    const read = (source: BodySource) => readBytes(source, { bytesMax: 10, deadlines });
    expect(await read(sending(5, 5))).toEqual({ kind: 'bytes', bytes: new Uint8Array(10) });
    expect((await read(sending(5, 6, 0))).kind).toBe('too_large');
    expect((await read(sending(11))).kind).toBe('too_large');
  });

  test('tells a body that breaks off, and never takes it for whole', async () => {
    const deadlines = new Deadlines(new LoopClock());
    const broken = { read: () => Promise.reject(new Error('gone')) };
    const told = await readBytes(broken, { bytesMax: 10, deadlines });
    expect(told).toEqual({ kind: 'bad', reason: 'The body broke off.' });
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
