import { describe, expect, it } from 'vitest';
import type { Answer, AnswerBody, Pieces } from '../../src/http1/answer.ts';
import { headerLine, headerText } from '../../src/http1/answer.ts';
import {
  framingOfAnswer,
  headOf,
  type Surroundings,
  wholeBytes,
} from '../../src/http1/answer_bytes.ts';
import { chunkOf, Chunks, LAST_CHUNK } from '../../src/http1/chunks.ts';
import { latin1Bytes } from '../../src/http1/head.ts';
import { latin1 } from '../support/latin1.ts';

const DATE = 'date: Mon, 30 Nov 2026 00:00:00 GMT\r\n';

function around(more: Partial<Surroundings> = {}): Surroundings {
  return { method: 'GET', minor: 1, isKept: true, date: DATE, ...more };
}

function pieces(bytes: number | null): Pieces {
  return { bytes, next: () => Promise.resolve(null), cancel: () => {} };
}

function answer(more: Partial<Answer> = {}): Answer {
  return { status: 200, headers: '', body: null, ...more };
}

describe('headers', () => {
  it('are a line each, with its end', () => {
    expect(headerText({ a: '1', 'x-b': '\xe9 2' })).toBe('a: 1\r\nx-b: \xe9 2\r\n');
    expect(headerText({})).toBe('');
    expect(headerLine(['Set-Cookie', 'a=b'])).toBe('Set-Cookie: a=b\r\n');
  });

  it.each(['\r\nx: y', 'a\r', 'a\nb', '\0', 'a\r\n', '\u010a'])(
    'are refused with %j in a value',
    (value) => {
      expect(() => headerText({ a: '1', b: value })).toThrow(
        'the header b cannot be sent as it is',
      );
      expect(() => headerLine(['b', value])).toThrow('the header b cannot be sent as it is');
    },
  );
});

describe('the framing of an answer', () => {
  const whole: AnswerBody[] = [null, '', 'text', new Uint8Array(0), new Uint8Array(3)];
  const all = [...whole, pieces(null), pieces(0), pieces(3)];

  it.each([['HEAD', 200], ['HEAD', 404], ['GET', 101], ['GET', 204], ['GET', 304]])(
    'is none to %s with %i, whatever the body',
    (method, status) => {
      for (const body of all) {
        for (const minor of [0, 1]) {
          expect(framingOfAnswer(answer({ status, body }), around({ method, minor }))).toBe('none');
        }
      }
    },
  );

  it('is a length where it is known, 205 and an empty body too', () => {
    for (const body of [...whole, pieces(0), pieces(3)]) {
      for (const status of [200, 205, 500]) {
        for (const minor of [0, 1]) {
          expect(framingOfAnswer(answer({ status, body }), around({ minor }))).toBe('length');
        }
      }
    }
  });

  it('is chunks where it is not, and the end of the connection in HTTP/1.0', () => {
    const body = pieces(null);
    expect(framingOfAnswer(answer({ body }), around())).toBe('chunked');
    expect(framingOfAnswer(answer({ body }), around({ minor: 0 }))).toBe('close');
  });
});

describe('the head of an answer', () => {
  it('has the usual reason, or the one that is given, and HTTP/1.1 always', () => {
    const firstOf = (given: Partial<Answer>) =>
      headOf(answer(given), 'length', around({ minor: 0 })).split('\r\n')[0];
    expect(firstOf({})).toBe('HTTP/1.1 200 OK');
    expect(firstOf({ status: 431 })).toBe('HTTP/1.1 431 Request Header Fields Too Large');
    expect(firstOf({ status: 599 })).toBe('HTTP/1.1 599 ');
    expect(firstOf({ reason: 'd\xe9j\xe0' })).toBe('HTTP/1.1 200 d\xe9j\xe0');
    expect(firstOf({ reason: '' })).toBe('HTTP/1.1 200 ');
  });

  it('has the date, unless somebody else answered', () => {
    const headers = 'a: b\r\n';
    expect(headOf(answer({ headers }), 'length', around())).toBe(
      `HTTP/1.1 200 OK\r\na: b\r\n${DATE}`,
    );
    expect(headOf(answer({ headers, isForwarded: true }), 'length', around())).toBe(
      'HTTP/1.1 200 OK\r\na: b\r\n',
    );
  });

  it.each<[framing: 'none' | 'length' | 'chunked' | 'close', minor: number, line: string]>([
    ['none', 1, ''],
    ['length', 1, ''],
    ['chunked', 1, 'transfer-encoding: chunked\r\n'],
    ['none', 0, 'connection: keep-alive\r\n'],
    ['length', 0, 'connection: keep-alive\r\n'],
  ])('tells of %s to HTTP/1.%i', (framing, minor, line) => {
    expect(headOf(answer(), framing, around({ minor, date: '' }))).toBe(
      `HTTP/1.1 200 OK\r\n${line}`,
    );
  });

  it('tells of a connection that closes', () => {
    for (const minor of [0, 1]) {
      const head = headOf(answer(), 'length', around({ minor, isKept: false, date: '' }));
      expect(head).toBe('HTTP/1.1 200 OK\r\nconnection: close\r\n');
    }
    const head = headOf(answer(), 'chunked', around({ isKept: false, date: '' }));
    expect(head).toBe(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n',
    );
  });

  it('of a switch of protocols is whole, and says nothing of its own of the connection', () => {
    const headers = 'connection: Upgrade\r\n';
    const head = headOf(answer({ status: 101, headers }), 'none', around({ isKept: false }));
    expect(head).toBe(`HTTP/1.1 101 Switching Protocols\r\n${headers}${DATE}\r\n`);
  });
});

describe('an answer that is there', () => {
  const encoder = new TextEncoder();

  it.each([
    ['nothing', null, ''],
    ['an empty text', '', ''],
    ['a text', 'hello', 'hello'],
    [
      'a text with a blank line',
      '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
      '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    ],
    ['a text that is not ASCII', 'größe 😀', latin1(encoder.encode('größe 😀'))],
    ['a text that is no Unicode', 'a\ud800b', 'a\xef\xbf\xbdb'],
    ['no bytes', new Uint8Array(0), ''],
    ['bytes', new Uint8Array([0, 13, 10, 255]), '\0\r\n\xff'],
  ])('of %s is sent with its length in bytes', (_, body, sent) => {
    for (const head of ['A: b\r\n', 'A: \xe9\r\n']) {
      const bytes = wholeBytes(head, body ?? '');
      expect(latin1(bytes)).toBe(`${head}content-length: ${sent.length}\r\n\r\n${sent}`);
    }
  });
});

describe('a chunk', () => {
  it('has its size in hexadecimal before it, and a line end behind it', () => {
    expect(latin1(chunkOf(latin1Bytes('hello')))).toBe('5\r\nhello\r\n');
    const large = 'x'.repeat(0xabc);
    expect(latin1(chunkOf(latin1Bytes(large)))).toBe(`abc\r\n${large}\r\n`);
    expect(latin1(LAST_CHUNK)).toBe('0\r\n\r\n');
  });

  it('is read again as it was, up to the last one', () => {
    const chunks = new Chunks();
    const content = new Uint8Array([13, 10, 48, 13, 10, 255]);
    expect(chunks.take(chunkOf(content)).content).toEqual(content);
    expect(chunks.isDone).toBe(false);
    chunks.take(LAST_CHUNK);
    expect(chunks.isDone).toBe(true);
  });
});
