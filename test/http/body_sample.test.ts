import { expect, it } from 'vitest';
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
  [429, [JSON_TYPE, ['content-encoding', 'identity'], ['content-encoding', 'gzip']], false],
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
