import { expect, it, vi } from 'vitest';
import { Connection } from '../../src/http1/connection.ts';
import { turns } from '../../src/http1/turns.ts';
import { MemoryLine } from '../support/lines.ts';
import { latin1 } from '../support/latin1.ts';

it.each([2046, 2047, 2048, 2049])('%i characters are written as ASCII or not at all', (length) => {
  for (const odd of [0, 1, 2, 3]) {
    const line = new MemoryLine();
    const text = '\xe9'.repeat(odd).padStart(length, 'x');
    const isAscii = odd === 0 && length <= 2048;
    expect(new Connection(line).writeShort(text) !== null, `${odd} others`).toBe(isAscii);
    if (!isAscii) expect(line.sent).toBe('');
  }
});

it.each([
  ['a short head', 'head\r\n\r\n'],
  ['a head beyond the buffer', 'h'.repeat(3000)],
  ['a head of Latin-1 characters', 'h\xe9\xff'],
])('%s is written as it is, each after the other', async (_, head) => {
  const line = new MemoryLine();
  const connection = new Connection(line);
  for (const text of [head, 'second']) await connection.writeHead(text);
  expect(line.sent).toBe(`${head}second`);
});

it.each([[0, true], [2040, true], [2044, true], [2045, false]])(
  'bytes behind a text of 4, %i of them, are written with it or not at all',
  async (count, isShort) => {
    const line = new MemoryLine();
    const connection = new Connection(line);
    const body = Uint8Array.from({ length: count }, (_, at) => at % 256);
    const sent = connection.writeShort('head', body);
    expect(sent !== null).toBe(isShort);
    await sent;
    expect(line.sent).toBe(isShort ? `head${latin1(body)}` : '');
  },
);

it('is counted among the open ones from its beginning until it is closed', async () => {
  const opened = vi.spyOn(turns, 'noteOpened');
  const closed = vi.spyOn(turns, 'noteClosed');
  const read = vi.spyOn(turns, 'noteRead');
  const line = new MemoryLine();
  const connection = new Connection(line);
  line.gives('x');
  await connection.more();
  expect([opened, closed, read].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 1]);
  connection.close();
  connection.close();
  expect([opened, closed, read].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
  vi.restoreAllMocks();
});

it('tells what is ahead as a text of one character a byte, wherever it stands', async () => {
  const line = new MemoryLine();
  const connection = new Connection(line);
  const text = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('');
  const long = text.repeat(80);
  line.gives(`${text}${long}`);
  await connection.more();
  expect(connection.textAhead(300)).toBe(`${text}${text.slice(0, 44)}`);
  connection.take(255);
  expect(connection.textAhead(3)).toBe('\xff\x00\x01');
  while (connection.aheadBytes < long.length + 1) await connection.more();
  expect(connection.textAhead(Infinity), 'in a larger buffer').toBe(`\xff${long}`);
  connection.take(long.length + 1);
  line.gives('next');
  await connection.more();
  expect(connection.textAhead(Infinity), 'in a small one again').toBe('next');
});
