import { describe, expect, it } from 'vitest';
import { MalformedError } from '../../../src/http1/head.ts';
import { type AnswerHead, readAnswerHead } from '../../../src/upstream/forward/answer_head.ts';
import { framingOf, isKept } from '../../../src/upstream/forward/framing.ts';

function head(lines: string, status = 200): AnswerHead {
  return readAnswerHead(`HTTP/1.1 ${status} X\r\n${lines}\r\n`);
}

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
