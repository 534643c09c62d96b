import { describe, expect, it, vi } from 'vitest';
import { Connection } from '../../src/http1/connection.ts';
import { latin1Bytes, MalformedError } from '../../src/http1/head.ts';
import { IncomingBody, sourceOf } from '../../src/http1/incoming_body.ts';
import { settled, textOf } from '../support/caller.ts';
import { MemoryLine } from '../support/lines.ts';
import { latin1 } from '../support/latin1.ts';

function bodyOf(bytes: number | null, isAwaited = false) {
  const line = new MemoryLine();
  const connection = new Connection(line);
  const body = new IncomingBody(connection, { bytes, isAwaited });
  const ended = vi.fn();
  body.ended = ended;
  return { line, connection, body, ended };
}

describe('a body of a length', () => {
  it('is read to its end and no further, however it comes', async () => {
    for (const size of [1, 10, 8191, 8192, 8193, 300_000]) {
      const text = Array.from({ length: size }, (_, at) => String.fromCharCode(at % 251)).join('');
      for (const piece of [7, 8192, 100_000]) {
        if (size / piece > 2000) continue;
        const { line, connection, body, ended } = bodyOf(size);
        const all = `${text}next`;
        for (let at = 0; at < all.length; at += piece) line.gives(all.slice(at, at + piece));
        expect(await textOf(body) === text).toBe(true);
        expect([body.isRead, body.left, body.isBeingRead]).toEqual([true, 0, false]);
        expect(ended).toHaveBeenCalledTimes(1);
        expect(await body.read()).toBe(null);
        while (connection.ahead.length < 4) await connection.fill();
        expect(latin1(connection.ahead)).toBe('next');
      }
    }
  });

  it('gives pieces that stay as they are while more is read', async () => {
    const { line, body } = bodyOf(6);
    line.gives('abc');
    const first = await body.read();
    line.gives('def');
    const second = await body.read();
    expect([first, second].map((piece) => latin1(piece as Uint8Array))).toEqual(['abc', 'def']);
  });

  it.each(['end', 'reset'] as const)(
    'that breaks off by %s fails its reader, each time',
    async (how) => {
      const { line, body, ended } = bodyOf(6);
      line.gives('abc').ends(how);
      expect(latin1(await body.read() as Uint8Array)).toBe('abc');
      for (let times = 0; times < 3; times++) await expect(body.read()).rejects.toThrow();
      expect([body.isRead, body.left]).toEqual([false, 3]);
      expect(ended).not.toHaveBeenCalled();
    },
  );

  it('can be had at once where it has come, and nothing else', async () => {
    const { line, connection, body, ended } = bodyOf(3);
    expect(body.whole()).toBe(null);
    line.gives('ab');
    await connection.fill();
    expect(body.whole()).toBe(null);
    expect(connection.ahead.length).toBe(2);
    line.gives('cd');
    await connection.fill();
    expect(latin1(body.whole() as Uint8Array)).toBe('abc');
    expect(ended).toHaveBeenCalledTimes(1);
    expect([body.isRead, latin1(connection.ahead), await body.read()]).toEqual([true, 'd', null]);
  });

  it('is being read from the first reading to its end', async () => {
    const { line, body } = bodyOf(3);
    expect(body.isBeingRead).toBe(false);
    const read = body.read();
    expect(body.isBeingRead).toBe(true);
    line.gives('abc');
    await read;
    expect(body.isBeingRead).toBe(false);
  });
});

describe('a body in chunks', () => {
  it('is read to its end and no further', async () => {
    const text = '3;x\r\nabc\r\n2\r\nde\r\n0\r\nt: 1\r\n\r\nnext';
    for (let at = 0; at < text.length; at++) {
      const { line, connection, body, ended } = bodyOf(null);
      expect(body.whole()).toBe(null);
      line.gives(text.slice(0, at), text.slice(at));
      expect(await textOf(body)).toBe('abcde');
      expect([body.isRead, ended.mock.calls.length]).toEqual([true, 1]);
      while (connection.ahead.length < 4) await connection.fill();
      expect(latin1(connection.ahead)).toBe('next');
    }
  });

  it('fails where it breaks off, and in another way where it is malformed', async () => {
    const check = async (text: string, isMalformed: boolean) => {
      const { line, body, ended } = bodyOf(null);
      line.gives(text).ends();
      const error = await textOf(body).catch((failure) => failure);
      expect(error).toBeInstanceOf(Error);
      expect([text, error instanceof MalformedError]).toEqual([text, isMalformed]);
      expect([body.isRead, body.left, ended.mock.calls.length]).toEqual([false, Infinity, 0]);
    };
    for (const text of ['', '3', '3\r\nabc', '3\r\nabc\r\n', '0\r\nt: 1\r\n']) {
      await check(text, false);
    }
    for (const text of ['3\r\nabcd', 'x', '3\n', '0\r\nt\n']) await check(text, true);
  });
});

describe('a body that is awaited', () => {
  it('is asked for by its first reading alone', async () => {
    const { line, body } = bodyOf(6, true);
    expect([body.isAwaited, body.whole(), line.sent]).toEqual([true, null, '']);
    const read = body.read();
    await settled();
    expect([line.sent, body.isAwaited]).toEqual(['HTTP/1.1 100 Continue\r\n\r\n', false]);
    const { sent } = line;
    line.gives('abc');
    await read;
    const next = body.read();
    await settled();
    line.gives('def');
    await next;
    expect([line.sent, body.isRead]).toEqual([sent, true]);
  });
});

it('a body that was read before is given once', async () => {
  const source = sourceOf(latin1Bytes('abc'));
  expect(await textOf(source)).toBe('abc');
  expect(await source.read()).toBe(null);
});

it.each([
  ['of a length', 10, 'other'],
  ['in chunks', null, '5\r\nother\r\n0\r\n\r\n'],
])('a body %s that two read at once ends where it ends', async (_, bytes, rest) => {
  const line = new MemoryLine();
  const connection = new Connection(line);
  const body = new IncomingBody(connection, { bytes, isAwaited: false });
  line.gives(bytes === null ? '5\r\nhalf \r\n' : 'half ');
  expect(latin1(await body.read() as Uint8Array)).toBe('half ');
  // Whoever read it may have lost interest while its read was under way.
  const abandoned = body.read();
  const read = body.read();
  line.gives(`${rest}GET /next`);
  expect(latin1(await read as Uint8Array)).toBe('other');
  expect(await abandoned).toBe(await read);
  expect(await body.read()).toBe(null);
  expect(body.isRead).toBe(true);
  expect(latin1(connection.ahead)).toBe('GET /next');
});
