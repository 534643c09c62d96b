/** What is read ahead of bodies that nobody reads yet: each within its bound, all within theirs. */
import { describe, expect, it, vi } from 'vitest';
import { CEILINGS } from '../../src/ceilings.ts';
import { ByteBudget } from '../../src/http1/byte_budget.ts';
import { Connection } from '../../src/http1/connection.ts';
import { latin1Bytes, MalformedError } from '../../src/http1/head.ts';
import { HeldPieces } from '../../src/http1/held_pieces.ts';
import { IncomingBody } from '../../src/http1/incoming_body.ts';
import { ok, serve, settled, textOf } from '../support/caller.ts';
import { latin1 } from '../support/latin1.ts';
import { MemoryLine } from '../support/lines.ts';

const KIB = 1024;

describe('held pieces', () => {
  it('are given in their order, and no more of them than a body may hold', () => {
    const held = new HeldPieces();
    const size = CEILINGS.bodyAheadBytes / 2;
    for (const first of [1, 2]) {
      expect(held.reserve(size)).toBe(true);
      held.push(new Uint8Array(size).fill(first));
    }
    expect(held.reserve(1)).toBe(false);
    expect(held.shift()?.[0]).toBe(1);
    expect(held.reserve(size)).toBe(true);
    held.push(new Uint8Array(size).fill(3));
    expect([held.shift()?.[0], held.shift()?.[0], held.shift()]).toEqual([2, 3, null]);
  });

  it('of all bodies share one budget, to which all that is read or dropped goes back', () => {
    const fill = () => {
      const all: HeldPieces[] = [];
      for (;;) {
        const held = new HeldPieces();
        if (!held.reserve(CEILINGS.bodyAheadBytes)) return all;
        held.push(new Uint8Array(CEILINGS.bodyAheadBytes));
        all.push(held);
      }
    };
    const all = fill();
    expect(all).toHaveLength(CEILINGS.bodiesAheadBytes / CEILINGS.bodyAheadBytes);
    all[0]?.shift();
    all[1]?.drop();
    all[1]?.drop();
    const again = fill();
    expect(again).toHaveLength(2);
    for (const held of [...all, ...again]) held.drop();
  });
});

/** A body of which all that is given has come and is held. */
async function held(text: string, bytes: number | null) {
  const line = new MemoryLine().gives(text);
  const connection = new Connection(line);
  const body = new IncomingBody(connection, { bytes, isAwaited: false });
  while (line.hasUnread) await connection.more();
  return { line, connection, body, isHeld: body.hold() };
}

describe('a body that is held', () => {
  it.each([
    ['of a length', 9, 'abcdef', 'ghiGET'],
    ['in chunks', null, '3\r\nabc\r\n3;x\r\ndef\r\n3\r', '\nghi\r\n0\r\n\r\nGET'],
  ])('%s is read as it came, to its end and no further', async (_, bytes, text, rest) => {
    const { line, connection, body, isHeld } = await held(text, bytes);
    expect([isHeld, connection.aheadBytes, body.isRead]).toEqual([true, 0, false]);
    expect([body.whole(), body.isBeingRead]).toEqual([null, false]);
    line.gives(rest);
    await connection.more();
    expect(await textOf(body)).toBe('abcdefghi');
    expect([body.isRead, latin1(connection.ahead)]).toEqual([true, 'GET']);
  });

  it('to its end is read without its connection, and lost where it is dropped', async () => {
    for (const isDropped of [false, true]) {
      const { body, line } = await held('abc', 3);
      expect([body.isRead, body.hold()]).toEqual([true, false]);
      line.ends('reset');
      if (isDropped) body.drop();
      if (isDropped) await expect(body.read()).rejects.toThrow();
      else expect(await textOf(body)).toBe('abc');
    }
  });

  it('is skipped with the rest of it', async () => {
    const { body, line, connection } = await held('abc', 6);
    line.gives('defGET');
    await body.skip();
    expect([body.isRead, latin1(connection.ahead)]).toEqual([true, 'GET']);
  });

  it('is asked for no more once some of it has come', async () => {
    const line = new MemoryLine().gives('abc');
    const connection = new Connection(line);
    const body = new IncomingBody(connection, { bytes: 6, isAwaited: true });
    await connection.more();
    expect([body.hold(), body.isAwaited]).toEqual([true, false]);
    await body.read();
    line.gives('def');
    expect([latin1(await body.read() as Uint8Array), line.sent]).toEqual(['def', '']);
  });

  it('holds nothing where it is malformed, given up, or all hold too much', async () => {
    const give = vi.spyOn(ByteBudget.prototype, 'give');
    const { body, isHeld } = await held('x', null);
    expect(isHeld).toBe(false);
    await expect(body.read()).rejects.toBeInstanceOf(MalformedError);
    expect(give.mock.calls.flat().reduce((sum, bytes) => sum + bytes, 0)).toBe(1);
    give.mockRestore();

    const givenUp = await held('abc', 6);
    givenUp.body.giveUp();
    expect(givenUp.body.hold()).toBe(false);

    const room = vi.spyOn(ByteBudget.prototype, 'take').mockReturnValue(false);
    const crowded = await held('abc', 3);
    room.mockRestore();
    expect([crowded.isHeld, await textOf(crowded.body)]).toEqual([false, 'abc']);
  });

  it('in chunks of one byte takes no more memory than came', async () => {
    const text = '1\r\nx\r\n'.repeat(10 * KIB);
    const taken = vi.spyOn(ByteBudget.prototype, 'take');
    const pushed = vi.spyOn(HeldPieces.prototype, 'push');
    const { body } = await held(text, null);
    expect([taken.mock.calls, pushed.mock.calls.length]).toEqual([[[text.length]], 1]);
    expect(latin1(await body.read() ?? latin1Bytes(''))).toBe('x'.repeat(10 * KIB));
    taken.mockRestore();
    pushed.mockRestore();
  });
});

it.each([
  ['its caller leaves', (line: MemoryLine) => void line.ends('reset'), () => {}],
  ['it is answered', () => {}, (tell: () => void) => tell()],
  ['the connection is closed', (_: MemoryLine, close: () => void) => close(), () => {}],
])('what a body holds is free again where %s', async (_, leave, answer) => {
  const took = vi.spyOn(ByteBudget.prototype, 'take');
  const gave = vi.spyOn(ByteBudget.prototype, 'give');
  const sum = (spy: typeof gave | typeof took) =>
    spy.mock.calls.flat().reduce((all, bytes) => all + bytes, 0);
  let tell = () => {};
  const { line, caller } = serve(() => new Promise((told) => tell = () => told(ok('no'))));
  line.gives(`POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 500000\r\n\r\n${'x'.repeat(500_000)}`);
  await settled();
  while (line.hasUnread) await settled();
  expect(sum(took)).toBeGreaterThan(400 * KIB);
  expect(sum(gave)).toBe(0);
  leave(line, () => caller.close());
  answer(tell);
  await settled();
  expect(sum(gave)).toBe(sum(took));
  took.mockRestore();
  gave.mockRestore();
});
