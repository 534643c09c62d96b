import { brotliCompressSync, constants, deflateSync, gzipSync, type InputType } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BodySample } from '../../src/http/body_sample.ts';
import { latin1Bytes } from '../../src/http1/head.ts';
import { HeaderLines } from '../../src/http1/header_lines.ts';

type Lines = readonly (readonly [string, string])[];

function sampleOf(status: number, lines: Lines): BodySample | null {
  return BodySample.of({ status, reason: '', minor: 1, headers: new HeaderLines(lines) });
}

const JSON_TYPE = ['Content-Type', 'application/problem+json; charset=utf-8'] as const;

it.each<[status: number, lines: Lines, isKept: boolean]>([
  [429, [JSON_TYPE], true],
  [200, [JSON_TYPE], true],
  [201, [JSON_TYPE], false],
  [302, [JSON_TYPE], false],
  [429, [], false],
  [429, [['Content-Type', 'text/jsonp']], false],
  [429, [JSON_TYPE, ['content-encoding', 'Identity'], ['Content-Encoding', 'identity']], true],
  [429, [JSON_TYPE, ['content-encoding', 'identity'], ['content-encoding', 'gzip']], true],
  [503, [JSON_TYPE, ['content-encoding', 'BR']], true],
  [200, [JSON_TYPE, ['content-encoding', 'gzip']], false],
  [429, [JSON_TYPE, ['content-encoding', 'deflate, gzip']], false],
  [429, [JSON_TYPE, ['content-encoding', 'zstd']], false],
  [429, [JSON_TYPE, ['content-encoding', 'constructor']], false],
])('the body of an answer %i with %j is kept: %s', (status, lines, isKept) => {
  expect(sampleOf(status, lines) !== null).toBe(isKept);
});

it('is read as JSON over its pieces, which the one who gave them may write again', () => {
  const sample = sampleOf(429, [JSON_TYPE]);
  const piece = latin1Bytes('{"error":{"a":');
  sample?.add(piece);
  piece.fill(0);
  sample?.add(latin1Bytes('"\xc3\xa9"}}'));
  sample?.add(null);
  expect(sample?.json()).toEqual({ error: { a: '\xe9' } });
});

it('is not read where it is too long, or no JSON', () => {
  const long = sampleOf(429, [JSON_TYPE]);
  long?.add(new Uint8Array(64 * 1024).fill(49));
  expect(long?.json()).not.toBeUndefined();
  long?.add(latin1Bytes('1'));
  expect(long?.json()).toBeUndefined();
  const broken = sampleOf(429, [JSON_TYPE]);
  broken?.add(latin1Bytes('{"error":'));
  expect(broken?.json()).toBeUndefined();
});

const PACKS: readonly (readonly [coding: string, pack: (bytes: InputType) => Uint8Array])[] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
];

/** What is read of a packed error body that comes in pieces of `size`. */
function readPacked(coding: string, bytes: Uint8Array, size = 5): unknown {
  const sample = sampleOf(429, [JSON_TYPE, ['content-encoding', coding]]);
  for (let at = 0; at < bytes.length; at += size) sample?.add(bytes.slice(at, at + size));
  return sample?.json();
}

describe.each(PACKS)('packed as %s', (coding, pack) => {
  it('an error is read', () => {
    const error = { error: { details: [{ retryDelay: '36.5s' }], of: 'caf\xe9' } };
    expect(readPacked(coding, pack(JSON.stringify(error)))).toEqual(error);
  });

  it('one of 64 KiB is read, one that comes to more is not', () => {
    const text = (length: number) => `"${'x'.repeat(length - 2)}"`;
    expect(readPacked(coding, pack(text(65_536)))).toHaveLength(65_534);
    expect(readPacked(coding, pack(text(65_537)))).toBeUndefined();
    expect(readPacked(coding, pack(text(30_000_000)), 1000)).toBeUndefined();
  });

  it('one that is cut short, damaged or empty is not read, and throws nothing', () => {
    const packed = pack(JSON.stringify({ a: Array.from({ length: 99 }, (_, n) => n) }));
    for (let length = 0; length < packed.length - 8; length += 1) {
      expect(readPacked(coding, packed.slice(0, length))).toBeUndefined();
    }
    for (let at = 0; at < packed.length; at += 1) {
      const damaged = packed.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 0x55;
      expect(() => readPacked(coding, damaged)).not.toThrow();
    }
    expect(readPacked(coding, latin1Bytes('{"a":1}'))).toBeUndefined();
  });
});

it('a window of brotli that costs much to fill is not read', () => {
  const packedWith = (windowBits: number) => {
    const params = { [constants.BROTLI_PARAM_LGWIN]: windowBits };
    return readPacked('br', brotliCompressSync('{"a":1}', { params }));
  };
  for (const bits of [10, 16, 17, 18, 22]) expect(packedWith(bits)).toEqual({ a: 1 });
  for (const bits of [23, 24]) expect(packedWith(bits)).toBeUndefined();
});
