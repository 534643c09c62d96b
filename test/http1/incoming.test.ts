import { describe, expect, it, vi } from 'vitest';
import { linesOf, MalformedError } from '../../src/http1/head.ts';
import { Incoming, openHead, saysOf } from '../../src/http1/incoming.ts';

const HOST = 'Host: h.test\r\n';

function opened(first: string, lines = HOST) {
  return openHead(linesOf(`${first}\r\n${lines}\r\n`));
}

describe('the head of a request', () => {
  it.each<[first: string, target: string, authority: string]>([
    ['GET / HTTP/1.1', '/', 'h.test'],
    ['GET /a/../b%2F//c?d=e?f HTTP/1.1', '/a/../b%2F//c?d=e?f', 'h.test'],
    ['GET //other.test/a HTTP/1.1', '//other.test/a', 'h.test'],
    ['GET /\xe9\xff HTTP/1.1', '/\xe9\xff', 'h.test'],
    ['GET /http://a.test/ HTTP/1.1', '/http://a.test/', 'h.test'],
    ['GET http://a.test/b?c HTTP/1.1', '/b?c', 'a.test'],
    ['GET HTTPS://A.test:8443/b HTTP/1.1', '/b', 'A.test:8443'],
    ['GET http://a.test HTTP/1.1', '/', 'a.test'],
    ['GET http://a.test?c=/d HTTP/1.1', '/?c=/d', 'a.test'],
    ['GET http://u:p@a.test/ HTTP/1.1', '/', 'u:p@a.test'],
    ['GET http:///b HTTP/1.1', '/b', ''],
    ['OPTIONS * HTTP/1.1', '*', 'h.test'],
    ['CONNECT a.test:443 HTTP/1.1', 'a.test:443', 'h.test'],
    ['GET ftp://a.test/b HTTP/1.1', 'ftp://a.test/b', 'h.test'],
    ['GET a HTTP/1.1', 'a', 'h.test'],
  ])('%j is for %j of %j', (first, target, authority) => {
    expect(opened(first)).toMatchObject({ target, authority, minor: 1 });
  });

  it('has its method and its headers as they came', () => {
    const { method, headers } = opened('m-SEARCH! / HTTP/1.1', `x-A: b\r\n${HOST}`);
    expect(method).toBe('m-SEARCH!');
    expect([...headers]).toEqual([['x-A', 'b'], ['Host', 'h.test']]);
  });

  it.each([
    'GET /',
    'GET  / HTTP/1.1',
    'GET / HTTP/1.1 ',
    'GET /  HTTP/1.1',
    'GET\t/ HTTP/1.1',
    ' GET / HTTP/1.1',
    'GET /a b HTTP/1.1',
    'GET /\t HTTP/1.1',
    'GET  HTTP/1.1',
    'G(T / HTTP/1.1',
    'G\xc9T / HTTP/1.1',
    '/ HTTP/1.1',
    'GET / http/1.1',
    'GET / HTTP/1.2',
    'GET / HTTP/1.10',
    'GET / HTTP/0.9',
    'GET / HTTP/2.0',
    'GET / HTTP/2',
    'PRI * HTTP/2.0',
    'HTTP/1.1 200 OK',
    '',
  ])('is refused that begins %j', (first) => {
    expect(() => opened(first)).toThrow(MalformedError);
  });

  it('names its host, unless it is of HTTP/1.0', () => {
    for (const target of ['/', '*', 'http://a.test/']) {
      expect(() => opened(`GET ${target} HTTP/1.1`, 'a: b\r\n'), target).toThrow(MalformedError);
    }
    expect(opened('GET / HTTP/1.0', 'a: b\r\n')).toMatchObject({ authority: '', minor: 0 });
    expect(opened('GET / HTTP/1.0')).toMatchObject({ authority: 'h.test', minor: 0 });
    expect(opened('GET / HTTP/1.1', 'Host:\r\n').authority).toBe('');
  });

  it('never chooses between two hosts', () => {
    for (const other of ['h.test', 'other.test']) {
      const { authority, headers } = opened('GET / HTTP/1.1', `${HOST}HOST: ${other}\r\n`);
      expect(authority).toBe(`h.test, ${other}`);
      expect(headers.get('host')).toBe(authority);
    }
    const both = opened('GET http://a.test/ HTTP/1.1', HOST);
    expect([both.authority, both.headers.get('host')]).toEqual(['a.test', 'h.test']);
  });
});

describe('the framing of a request', () => {
  const framed = (lines: string, minor = 1) =>
    saysOf(opened(`POST / HTTP/1.${minor}`, HOST + lines)).framing;

  it.each([
    ['', { kind: 'none' }],
    ['content-length: 5\r\n', { kind: 'length', bytes: 5 }],
    ['content-length: 0\r\n', { kind: 'length', bytes: 0 }],
    ['content-length: 999999999999999\r\n', { kind: 'length', bytes: 999_999_999_999_999 }],
    ['content-length: 5\r\nContent-Length: 5\r\n', { kind: 'length', bytes: 5 }],
    ['content-length: 5, 5\r\n', { kind: 'length', bytes: 5 }],
    ['transfer-encoding: chunked\r\n', { kind: 'chunked' }],
    ['Transfer-Encoding: \t Chunked \r\n', { kind: 'chunked' }],
  ])('of %j', (lines, framing) => {
    expect(framed(lines)).toEqual(framing);
  });

  it.each([
    'content-length: 5\r\ncontent-length: 6\r\n',
    'content-length: 5\r\ncontent-length:\r\n',
    'content-length: 5, 6\r\n',
    'content-length: 5, 05\r\n',
    'content-length: 5,\r\n',
    'content-length: ,5\r\n',
    'content-length: +5\r\n',
    'content-length: -5\r\n',
    'content-length: 0x5\r\n',
    'content-length: 5e1\r\n',
    'content-length: 5.0\r\n',
    'content-length: 5 5\r\n',
    'content-length: \xb2\r\n',
    'content-length:\r\n',
    'content-length: 1000000000000000\r\n',
    'content-length: 5\r\ntransfer-encoding: chunked\r\n',
    'transfer-encoding: chunked\r\ncontent-length: 0\r\n',
    'transfer-encoding: chunked\r\ncontent-length:\r\n',
    'transfer-encoding: gzip, chunked\r\n',
    'transfer-encoding: chunked, chunked\r\n',
    'transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n',
    'transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n',
    'transfer-encoding: chunked;a=b\r\n',
    'transfer-encoding: identity\r\n',
    'transfer-encoding: xchunked\r\n',
    'transfer-encoding: "chunked"\r\n',
    'transfer-encoding: \x80chunked\r\n',
    'transfer-encoding: chunked,\r\n',
    'transfer-encoding:\r\n',
  ])('is refused of %j', (lines) => {
    expect(() => framed(lines)).toThrow(MalformedError);
    expect(() => framed(lines, 0)).toThrow(MalformedError);
  });

  it('in HTTP/1.0 is a length or none', () => {
    expect(framed('', 0)).toEqual({ kind: 'none' });
    expect(framed('content-length: 5\r\n', 0)).toEqual({ kind: 'length', bytes: 5 });
    expect(() => framed('transfer-encoding: chunked\r\n', 0)).toThrow(MalformedError);
  });
});

describe('a request whose caller leaves', () => {
  const request = () => {
    const head = opened('GET / HTTP/1.1');
    return new Incoming(head, { headBytes: 30, says: saysOf(head), body: null });
  };

  it('tells all who asked to be told, once, and nobody before', () => {
    const one = request();
    const told = [vi.fn(), vi.fn()];
    for (const each of told) one.whenGone(each);
    const { signal } = one;
    expect(one.isGone).toBe(false);
    expect(signal.aborted).toBe(false);
    for (const each of told) expect(each).not.toHaveBeenCalled();
    one.leave();
    one.leave();
    expect(one.isGone).toBe(true);
    expect(signal.aborted).toBe(true);
    expect(one.signal).toBe(signal);
    for (const each of told) expect(each).toHaveBeenCalledTimes(1);
  });

  it('tells at once who asks later', () => {
    const one = request();
    one.leave();
    const told = vi.fn();
    one.whenGone(told);
    expect(told).toHaveBeenCalledTimes(1);
    expect(one.signal.aborted).toBe(true);
  });
});
