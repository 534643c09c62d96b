import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  HEAD_BYTES_MAX,
  HeadEnd,
  type HeadLines,
  HeadTooLargeError,
  latin1Bytes,
  linesOf,
  MalformedError,
} from '../../src/http1/head.ts';
import { latin1 } from '../support/latin1.ts';

/** Reads a head that comes byte by byte; null where it does not end. */
function headOf(text: string): HeadLines | null {
  const bytes = latin1Bytes(text);
  const headEnd = new HeadEnd();
  for (let length = 1; length <= bytes.length; length++) {
    const end = headEnd.find(bytes.subarray(0, length));
    if (end >= 0) return linesOf(latin1(bytes.subarray(0, end)));
  }
  return null;
}

describe('a head', () => {
  it('is read with names as they came and values without the blanks around them', () => {
    expect(headOf('GET / HTTP/1.1\r\nX-A:  b c \t\r\nx-a:\r\nB:\xe9\xff\r\n\r\n')).toEqual({
      first: 'GET / HTTP/1.1',
      headers: [['X-A', 'b c'], ['x-a', ''], ['B', '\xe9\xff']],
    });
    expect(headOf('anything\r\n\r\n')).toEqual({ first: 'anything', headers: [] });
  });

  it('ends behind its blank line, and what follows is left', () => {
    const text = 'GET / HTTP/1.1\r\nA: b\r\n\r\n';
    expect(new HeadEnd().find(latin1Bytes(`${text}body\r\n\r\n`))).toBe(text.length);
    expect(new HeadEnd().find(latin1Bytes(text.slice(0, -1)))).toBe(-1);
  });

  it.each([
    ['a bare LF', 'GET / HTTP/1.1\nA: b\n\n'],
    ['a bare CR', 'GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n'],
    ['a blank before the colon', 'GET / HTTP/1.1\r\nA : b\r\n\r\n'],
    ['a blank before the first name', 'GET / HTTP/1.1\r\n A: b\r\n\r\n'],
    ['no colon', 'GET / HTTP/1.1\r\nA\r\n\r\n'],
    ['no colon behind a name', 'GET / HTTP/1.1\r\nHost\r\n\r\n'],
    ['no name', 'GET / HTTP/1.1\r\n: a\r\n\r\n'],
    ['a name that is no token', 'GET / HTTP/1.1\r\nA\xe9: b\r\n\r\n'],
    ['a NUL', 'GET / HTTP/1.1\r\nA: b\0c\r\n\r\n'],
    ['a control character in its first line', 'GET /\x7f HTTP/1.1\r\n\r\n'],
  ])('is refused with %s', (_, text) => {
    expect(() => headOf(text)).toThrow(MalformedError);
    expect(() => headOf(text)).not.toThrow(HeadTooLargeError);
  });

  it.each([
    ['without end', `GET / HTTP/1.1\r\nA: ${'a'.repeat(HEAD_BYTES_MAX)}`],
    ['of too many headers', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(513)}\r\n`],
  ])('%s is too large', (_, text) => {
    expect(() => headOf(text)).toThrow(HeadTooLargeError);
  });

  it('may have 512 headers', () => {
    expect(headOf(`GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(512)}\r\n`)?.headers).toHaveLength(512);
  });

  it('never throws anything else, whatever the bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    const like = fc.array(
      fc.constantFrom('GET / HTTP/1.1', '\r\n', '\r', '\n', 'a: b', ':', ' ', '\0', 'chunked'),
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

it('Latin-1 stands for bytes one to one, also where they read as UTF-8', () => {
  const others = ['é', '\ufeffa', '\ufffd', '😀', 'ü'.repeat(10_000)].map((text) =>
    new TextEncoder().encode(text)
  );
  const any = fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(...others));
  fc.assert(fc.property(any, (bytes) => {
    expect(latin1Bytes(latin1(bytes))).toEqual(bytes);
  }));
});
