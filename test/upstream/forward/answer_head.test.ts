import { describe, expect, it } from 'vitest';
import { HeadEnd, latin1Bytes, MalformedError } from '../../../src/http1/head.ts';
import { readAnswerHead } from '../../../src/upstream/forward/answer_head.ts';

/** Reads a head that has come whole. */
function headOf(text: string) {
  return readAnswerHead(text.slice(0, new HeadEnd().find(latin1Bytes(text))));
}

describe('the head of an answer', () => {
  it('is read with its status, its reason and its headers', () => {
    const text = 'HTTP/1.0 404 Not here\r\nX-A:  b c \t\r\nx-a:\r\nB:\xe9\xff\r\n\r\n';
    const { headers, ...head } = headOf(text);
    expect(head).toEqual({ status: 404, reason: 'Not here', minor: 0 });
    expect([...headers]).toEqual([['X-A', 'b c'], ['x-a', ''], ['B', '\xe9\xff']]);
  });

  it.each([599, 600, 999])('has a status of any three digits: %i', (status) => {
    expect(headOf(`HTTP/1.1 ${status} Request denied\r\n\r\n`)).toMatchObject({ status });
  });

  it.each([
    ['HTTP/1.1 200', ''],
    ['HTTP/1.1 200 ', ''],
    ['HTTP/1.1 200  two\tblanks ', ' two\tblanks '],
    ['HTTP/1.1 200 d\xe9j\xe0', 'd\xe9j\xe0'],
  ])('keeps the reason of %j as it came', (first, reason) => {
    expect(headOf(`${first}\r\n\r\n`)).toMatchObject({ status: 200, minor: 1, reason });
  });

  it.each([
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a version in lower case', 'http/1.1 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 X\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 X\r\n\r\n'],
    ['two blanks before the status', 'HTTP/1.1  200 X\r\n\r\n'],
    ['a status line that is none', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an empty line first', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n'],
    ['a bare LF', 'HTTP/1.1 200 OK\nA: b\n\n'],
  ])('is refused with %s', (_, text) => {
    expect(() => headOf(text)).toThrow(MalformedError);
  });
});
