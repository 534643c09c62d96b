import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Chunks } from '../../../src/upstream/forward/chunks.ts';
import { framingOf, isKept } from '../../../src/upstream/forward/framing.ts';
import {
  type AnswerHead,
  HEAD_BYTES_MAX,
  HeadEnd,
  latin1,
  latin1Bytes,
  MalformedError,
  readHead,
} from '../../../src/upstream/forward/head.ts';

/** Reads a head that comes byte by byte; null where it does not end. */
function headOf(text: string): AnswerHead | null {
  const bytes = latin1Bytes(text);
  const headEnd = new HeadEnd();
  for (let length = 1; length <= bytes.length; length++) {
    const end = headEnd.find(bytes.subarray(0, length));
    if (end >= 0) return readHead(bytes.subarray(0, end));
  }
  return null;
}

function head(lines: string, status = 200): AnswerHead {
  return headOf(`HTTP/1.1 ${status} X\r\n${lines}\r\n`) as AnswerHead;
}

describe('readHead', () => {
  it('reads status, names as they came and values without the blanks around them', () => {
    expect(headOf('HTTP/1.0 404 Not here\r\nX-A:  b c \t\r\nx-a:\r\nB:\xe9\xff\r\n\r\n')).toEqual({
      status: 404,
      minor: 0,
      headers: [['X-A', 'b c'], ['x-a', ''], ['B', '\xe9\xff']],
    });
    expect(headOf('HTTP/1.1 200\r\n\r\n')?.status).toBe(200);
  });

  it.each([
    ['a bare LF', 'HTTP/1.1 200 OK\nA: b\n\n'],
    ['a bare CR', 'HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n'],
    ['a blank before the colon', 'HTTP/1.1 200 OK\r\nA : b\r\n\r\n'],
    ['no colon', 'HTTP/1.1 200 OK\r\nA\r\n\r\n'],
    ['no name', 'HTTP/1.1 200 OK\r\n: a\r\n\r\n'],
    ['a NUL', 'HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status beyond 599', 'HTTP/1.1 600 X\r\n\r\n'],
    ['a status line that is none', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an empty line first', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(HEAD_BYTES_MAX)}`],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(600)}\r\n`],
  ])('refuses %s', (_, text) => {
    expect(() => headOf(text)).toThrow(MalformedError);
  });

  it('never throws anything else, whatever the bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    const like = fc.array(
      fc.constantFrom('HTTP/1.1 200 OK', '\r\n', '\r', '\n', 'a: b', ':', ' ', '\0', 'chunked'),
      { maxLength: 20 },
    ).map((parts) => latin1Bytes(parts.join('')));
    fc.assert(
      fc.property(fc.oneof(bytes, like), (any) => {
        try {
          headOf(latin1(any));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('framingOf', () => {
  it.each([
    ['content-length: 5\r\n', 200, 'GET', { kind: 'length', bytes: 5 }],
    ['content-length: 5\r\nContent-Length: 5\r\n', 200, 'GET', { kind: 'length', bytes: 5 }],
    ['content-length: 5, 5\r\n', 200, 'GET', { kind: 'length', bytes: 5 }],
    ['content-length: 0\r\n', 200, 'GET', { kind: 'none' }],
    ['content-length: 5\r\n', 200, 'HEAD', { kind: 'none' }],
    ['content-length: 5\r\n', 304, 'GET', { kind: 'none' }],
    ['transfer-encoding: chunked\r\n', 204, 'GET', { kind: 'none' }],
    ['Transfer-Encoding: Chunked\r\n', 200, 'GET', { kind: 'chunked' }],
    ['', 200, 'GET', { kind: 'close' }],
    ['', 205, 'GET', { kind: 'none' }],
  ])('%j with %i to %s', (lines, status, method, framing) => {
    expect(framingOf(head(lines, status), method)).toEqual(framing);
  });

  it.each([
    'content-length: 5\r\ncontent-length: 6\r\n',
    'content-length: 5, 6\r\n',
    'content-length: +5\r\n',
    'content-length: -5\r\n',
    'content-length: 0x5\r\n',
    'content-length: 5 5\r\n',
    'content-length:\r\n',
    'content-length: 9999999999999999\r\n',
    'content-length: 5\r\ntransfer-encoding: chunked\r\n',
    'transfer-encoding: gzip, chunked\r\n',
    'transfer-encoding: chunked, chunked\r\n',
    'transfer-encoding: identity\r\n',
    'transfer-encoding: xchunked\r\n',
  ])('refuses %j', (lines) => {
    expect(() => framingOf(head(lines), 'GET')).toThrow(MalformedError);
  });

  it('keeps a connection only where the answer says nothing against it', () => {
    const kept = (lines: string) => isKept(head(lines), framingOf(head(lines), 'GET'));
    expect(kept('content-length: 1\r\n')).toBe(true);
    expect(kept('content-length: 1\r\nconnection: Close\r\n')).toBe(false);
    expect(kept('content-length: 1\r\nconnection: x, close\r\n')).toBe(false);
    expect(kept('')).toBe(false);
  });
});

describe('Chunks', () => {
  /** The content of chunks that come in the given pieces; undefined where they do not end. */
  function content(pieces: readonly string[]): string | undefined {
    const chunks = new Chunks();
    let text = '';
    for (const piece of pieces) {
      let rest = latin1Bytes(piece);
      while (rest.length > 0 && !chunks.isDone) {
        const { taken, content: found } = chunks.take(rest);
        expect(taken).toBeGreaterThan(0);
        if (found !== null) text += latin1(found);
        rest = rest.subarray(taken);
      }
    }
    return chunks.isDone ? text : undefined;
  }

  it('reads any chunks, cut anywhere', () => {
    const piece = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 });
    fc.assert(fc.property(
      fc.array(piece, { maxLength: 6 }),
      fc.array(fc.nat(300), { maxLength: 12 }),
      fc.constantFrom('', ';a=b', ' ;a="b"'),
      fc.constantFrom('', 'x: y\r\n'),
      (parts, places, extension, trailer) => {
        const framed = parts.map((text) =>
          `${text.length.toString(16)}${extension}\r\n${text}\r\n`
        );
        const text = `${framed.join('')}0${extension}\r\n${trailer}\r\n`;
        const ends = [...new Set([0, ...places, text.length])].filter((at) => at <= text.length)
          .sort((a, b) => a - b);
        const pieces = ends.slice(1).map((end, at) => text.slice(ends[at], end));
        expect(content(pieces)).toBe(parts.join(''));
        expect(content([...text])).toBe(parts.join(''));
      },
    ));
  });

  it.each([
    'zz\r\nab\r\n0\r\n\r\n',
    '2\nab\r\n0\r\n\r\n',
    '2\r\nabc\r\n0\r\n\r\n',
    '2\r\nab\n0\r\n\r\n',
    '-2\r\nab\r\n',
    '0x2\r\nab\r\n',
    '\r\n',
    ' 2\r\nab\r\n',
    '2 3\r\nab\r\n',
    'fffffffffffff\r\n',
    '2;a\nb\r\nab\r\n',
    '0\r\na\nb\r\n\r\n',
  ])('refuses %j', (text) => {
    expect(() => content([text])).toThrow(MalformedError);
    expect(() => content([...text])).toThrow(MalformedError);
  });

  it('refuses extensions and trailers without bound', () => {
    expect(() => content([`2;${'a'.repeat(5000)}\r\nab\r\n`])).toThrow(MalformedError);
    expect(() => content([`0\r\n${'a: b\r\n'.repeat(4000)}\r\n`])).toThrow(MalformedError);
  });
});
